"""Cures of graph breaks, each applied to a copy, captured again, run and compared."""

DOORS = {
    "live_cures": "What a view asks to be tried: cures of the breaks of a live call.",
    "refused_call": "Runs a call that torch refused without the compiler.",
    "rehearse": "Rehearses the cures of graph breaks: one, each alone, those that help together.",
}
"""What other rooms import of this one."""

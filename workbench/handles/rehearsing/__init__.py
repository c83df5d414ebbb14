"""Cures of graph breaks, each applied to a copy, captured again, run and compared."""

DOORS = {
    "live_cures": "Fixes for the breaks of a live call, tried from a view.",
    "refused_call": "Runs a call that torch refused without the compiler.",
    "rehearse": "Tries fixes for graph breaks: one, each separately, all that help together.",
}
"""What other rooms import of this one."""

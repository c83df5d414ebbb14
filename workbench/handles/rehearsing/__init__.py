"""Cures of graph breaks, each applied to a copy, captured again, run and compared."""

DOORS = {
    "live_cures": "The cures of a live call's graph breaks, tried when a view asks.",
    "rehearse": "Rehearses the cures of graph breaks: one, each alone, those that help together.",
}
"""What other rooms import of this one."""

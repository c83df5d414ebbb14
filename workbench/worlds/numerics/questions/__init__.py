"""Looks at the numbers of what was compiled, on inputs of the user."""

DOORS = {
    "live_numerics": "Looks at the numbers of a call, also for a live view.",
    "numerics_questions": "Asks about the numbers of what was compiled, packaged or loaded.",
}
"""What other rooms import of this one."""

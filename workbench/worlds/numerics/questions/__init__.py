"""Looks at the numbers of what was compiled, on inputs of the user."""

DOORS = {
    "live_numerics": "Checks the numerics of a call, also for a live view.",
    "numerics_questions": "Checks the numerics of a compiled, packaged or loaded program.",
}
"""What other rooms import of this one."""

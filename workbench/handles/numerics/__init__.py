"""Looks at the numbers of what was compiled, on inputs of the user."""

DOORS = {
    "numerics_actions": "What a live view starts about the numbers of a call.",
    "numerics_questions": "Asks about the numbers of what was compiled, packaged or loaded.",
}
"""What other rooms import of this one."""

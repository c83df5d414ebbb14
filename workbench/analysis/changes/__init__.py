"""A change of a program, by whatever advice, and the result of trying it."""

DOORS = {
    "tried_change": "Applies a change to a copy, runs the copy, and compares the results.",
    "change": "The code of a change: edited lines, code before a call, settings, and a unified "
    "diff.",
}
"""What other rooms import of this one."""

"""A change of a program, by whatever advice, and the result of trying it."""

DOORS = {
    "tried_change": "The result of a change on a copy, and the way to it: made, run, weighed.",
    "change": "The code of a change: lines of files, before a call, settings, as a unified diff.",
}
"""What other rooms import of this one."""

"""A change of a program, by whatever advice, and what came of trying it."""

DOORS = {
    "tried_change": "What came of a change on a copy, and the way to it: made, run, weighed.",
    "change": "What to write: lines of files, before a call, settings; and as a unified diff.",
}
"""What other rooms import of this one."""

"""What was found of the numbers of a call."""

DOORS = {
    "apart_answer": "Where two programs of one call part.",
    "numerics_view": "The view of a compilation with its numbers open, and a chart of its stages.",
}
"""What other rooms import of this one."""

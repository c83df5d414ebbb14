"""A call made once more, as it was or with a change: on which copy, when, and what came of it."""

DOORS = {
    "cell_thread": "Work for the thread that runs the cells of a notebook, when none runs.",
    "changed_copy": "A function or module with other lines, as a copy; the options of Dynamo.",
    "outcomes": "All that one call gives and changes, and whether two gave and changed the same.",
}
"""What other rooms import of this one."""

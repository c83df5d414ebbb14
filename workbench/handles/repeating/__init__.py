"""A call made once more, as it was or with a change: on which copy, when, and what came of it."""

DOORS = {
    "cell_thread": "Runs work in the thread of a notebook's cells when it is idle.",
    "changed_copy": "A changed copy of a function or module; Dynamo's options.",
    "outcomes": "Results and effects of one call, and whether two calls agree.",
}
"""What other rooms import of this one."""

"""A call made once more, as it was or with a change: on which copy, when, and what came of it."""

DOORS = {
    "cell_thread": "Runs work in the thread of a notebook's cells when that thread is idle.",
    "changed_copy": "Makes changed copies of functions and modules, and reads changed Dynamo "
    "options.",
    "outcomes": "The results and effects of one call, and a comparison of two calls.",
}
"""What other rooms import of this one."""

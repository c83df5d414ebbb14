"""What is shown of the memory of a compiled call."""

DOORS = {
    "fit_answer": "Shows whether a model fits on a GPU and what its peak memory consists of.",
    "memory_answer": "Shows the peak memory of a call, also under memory budgets.",
}
"""What other rooms import of this one."""

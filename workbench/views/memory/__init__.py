"""What is shown of the memory of a compiled call."""

DOORS = {
    "fit_answer": "Whether a model fits into a GPU, with the parts of its peak and a chart.",
    "memory_answer": "Peak memory of a call, also under memory budgets, with charts.",
}
"""What other rooms import of this one."""

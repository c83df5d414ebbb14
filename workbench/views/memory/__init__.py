"""What is shown of the memory of a compiled call."""

DOORS = {
    "fit_answer": "Whether a model fits into a GPU: the parts of its peak, and a chart.",
    "memory_answer": "The memory of a call, and under budgets: what its peak is made of, charts.",
}
"""What other rooms import of this one."""

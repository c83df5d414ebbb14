"""What is shown of the memory of a compiled call."""

DOORS = {
    "budgets_answer": "Activation memory budgets of a training step: a row for each, and a chart.",
    "fit_answer": "Whether a model fits into a GPU: the parts of its peak, and a chart.",
    "memory_answer": "The memory of a call: its peaks and what they are made of, and a chart.",
}
"""What other rooms import of this one."""

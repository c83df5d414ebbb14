"""What each kernel costs: measured, bounded by a model, or the bytes that it moves."""

DOORS = {
    "costs": "The costs of every kernel, by each measure that is known.",
    "identical_kernels": "Kernels that do the same work for the same lines, as one row.",
    "line_shares": "The kernels of each source line, and its share of their cost.",
}
"""What other rooms import of this one."""

"""What each kernel costs: measured, bounded by a model, or the bytes that it moves."""

DOORS = {
    "costs": "The cost of every kernel, in each known measure.",
    "identical_kernels": "Merges kernels that do the same work for the same lines into one row.",
    "line_shares": "The kernels of each source line, and the line's share of their cost.",
}
"""What other rooms import of this one."""

"""What each kernel costs: measured, bounded by a model, or the bytes that it moves."""

DOORS = {
    "costs": "What every kernel costs, in each of the ways in which that is known.",
    "identical_kernels": "Kernels that do the same work for the same lines, as one row.",
    "line_shares": "Which kernels each source line ends in, and its part of what they cost.",
}
"""What other rooms import of this one."""

"""What kernels of libraries are, by their names, and what their calls ask of a GPU."""

DOORS = {
    "kernel_names": "What a kernel is, read from its name alone.",
    "operator_work": "What one call of an operator has to compute and to move.",
    "kernel_bounds": "The least time of a kernel on a GPU, and why one takes longer.",
}
"""What other rooms import of this one."""

"""What kernels of libraries are, by their names, and what their calls ask of a GPU."""

DOORS = {
    "kernel_names": "The kind of a kernel, read from its name alone.",
    "operator_work": "Operations and traffic of one call of an operator.",
    "kernel_bounds": "The roofline time of a kernel on a GPU, and why it takes longer.",
}
"""What other rooms import of this one."""

"""What kernels of libraries are, by their names, and what their calls ask of a GPU."""

DOORS = {
    "kernel_names": "Derives the kind of a kernel from its name alone.",
    "operator_work": "Counts the operations and the traffic of one operator call.",
    "kernel_bounds": "The roofline time of a kernel on a GPU, and why the kernel takes longer.",
}
"""What other rooms import of this one."""

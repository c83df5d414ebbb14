"""What a GPU can do with a kernel, by models; nothing is run."""

DOORS = {
    "launches": "What a GPU waits for between kernels, and what CUDA graphs would save.",
    "matrix": "Kernels on several GPUs, and how far apart the GPUs are.",
    "roofline": "The least time of a kernel, by its data or by its arithmetic.",
}
"""What other rooms import of this one."""

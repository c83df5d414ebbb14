"""What a GPU can do with a kernel, by models; nothing is run."""

DOORS = {
    "launches": "The launch overhead of a call, and the time that CUDA graphs save.",
    "matrix": "Compares kernels on several GPUs, and measures the spread between the GPUs.",
    "roofline": "The roofline time of a kernel, from its bytes and its operations.",
}
"""What other rooms import of this one."""

"""What a GPU can do with a kernel, by models; nothing is run."""

DOORS = {
    "launches": "Launch overhead of a call, and the saving by CUDA graphs.",
    "matrix": "Kernels on several GPUs, and how far apart the GPUs are.",
    "roofline": "The roofline time of a kernel, by its data or its arithmetic.",
}
"""What other rooms import of this one."""

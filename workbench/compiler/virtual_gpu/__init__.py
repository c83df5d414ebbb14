"""Compiling for a virtual GPU, in a worker process."""

DOORS = {
    "client": "The client of the worker that compiles for virtual GPUs.",
    "kernel_choice": "Finds the kernels of a report that can be recompiled, and builds them.",
    "packaged": "Builds a package for a virtual GPU, with its library compiled in the worker.",
}
"""What other rooms import of this one."""

"""Compiling for a virtual GPU, in a worker process."""

DOORS = {
    "client": "The user's end of the worker that compiles for virtual GPUs.",
    "kernel_choice": "Which kernels of a report can be recompiled, and their builds.",
    "packaged": "A package for a virtual GPU, its library compiled in the worker.",
}
"""What other rooms import of this one."""

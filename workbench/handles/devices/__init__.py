"""What stands in for a GPU: the one that is here, and the interpreter for one that is not."""

DOORS = {
    "local_gpu": "Describes the GPU of this machine, and compiles calls for it.",
    "watched_kernels": "Runs the instrumented kernels of a program.",
}
"""What other rooms import of this one."""

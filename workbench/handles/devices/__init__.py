"""What stands in for a GPU: the one that is here, and the interpreter for one that is not."""

DOORS = {
    "local_gpu": "The GPU of this machine: what it is, and a call compiled for it.",
    "watched_kernels": "Runs the kernels of a program instrumented.",
}
"""What other rooms import of this one."""

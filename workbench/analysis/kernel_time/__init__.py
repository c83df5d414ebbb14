"""The time of a kernel on a GPU, its bound, its error and why: one function, several models."""

DOORS = {
    "kernel_time": "Models the time of a kernel for each kind of launch.",
    "inner_loop": "Finds the loop of MMA instructions in machine code.",
    "product_times": "The fitted parameters of hand-written matmuls, and their tiles.",
}
"""What other rooms import of this one."""

"""The time of a kernel on a GPU, its bound, its error and why: one function, several models."""

DOORS = {
    "kernel_time": "The one function that gives a kernel's time, and the launches that it knows.",
    "inner_loop": "The loop of matrix instructions in machine code.",
    "product_times": "The fitted parameters of products that a user wrote, and their tiles.",
}
"""What other rooms import of this one."""

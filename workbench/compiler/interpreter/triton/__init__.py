"""Triton's language on the CPU, many programs at once."""

DOORS = {
    "batched_builder": "Operators of Triton's interpreter for many programs at once.",
    "triton_kernels": "Triton kernels of a generated program, run by the interpreter.",
}
"""What other rooms import of this one."""

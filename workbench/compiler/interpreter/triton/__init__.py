"""Triton's language on the CPU, many programs at once."""

DOORS = {
    "triton_kernels": "Runs the Triton kernels of a generated program in the interpreter.",
}
"""What other rooms import of this one."""

"""Triton's language on the CPU, many programs at once."""

DOORS = {
    "triton_kernels": "Triton kernels of a generated program, run by the interpreter.",
}
"""What other rooms import of this one."""

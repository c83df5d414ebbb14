"""Kernels that a user wrote: compiled for any GPU, checked, tuned."""

DOORS = {
    "inductor_kernels": "A kernel of a compiled program as a call by itself.",
    "own_kernel": "One call of such a kernel, and everything that can be asked about it.",
}
"""What other rooms import of this one."""

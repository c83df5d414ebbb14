"""Kernels that a user wrote: compiled for any GPU, checked, tuned."""

DOORS = {
    "inductor_kernels": "A kernel of a compiled program, called separately.",
    "own_kernel": "One call of a hand-written kernel: compile, check, tune, save.",
}
"""What other rooms import of this one."""

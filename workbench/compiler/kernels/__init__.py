"""Hand-written kernels: what a call of one is."""

DOORS = {
    "kernel_call": "A call of a kernel that a user wrote: checked, and sent to a worker.",
    "helion_kernels": "The Triton that Helion writes, as such a call.",
    "kernel_variants": "Such a call as Triton's compiler takes it, in each configuration.",
}
"""What other rooms import of this one."""

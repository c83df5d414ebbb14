"""Hand-written kernels: what a call of one is."""

DOORS = {
    "kernel_call": "A call of a kernel that a user wrote: checked, and sent to a worker.",
    "helion_kernels": "Helion's Triton code as a kernel call.",
    "kernel_variants": "A kernel call as Triton's compiler takes it, in each configuration.",
}
"""What other rooms import of this one."""

"""Hand-written kernels: what a call of one is."""

DOORS = {
    "kernel_call": "Checks a call of a hand-written kernel, and sends it to a worker.",
    "helion_kernels": "Turns Helion's Triton code into a kernel call.",
    "kernel_variants": "Prepares a kernel call for Triton's compiler, once for each configuration.",
}
"""What other rooms import of this one."""

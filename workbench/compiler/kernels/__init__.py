"""Hand-written kernels: what a call of one is."""

DOORS = {
    "kernel_call": "A call of a kernel that a user wrote: checked, and sent to a worker.",
}
"""What other rooms import of this one."""

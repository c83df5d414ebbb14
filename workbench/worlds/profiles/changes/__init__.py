"""What to change in a program by the profile of a device: each with the time that it concerns."""

DOORS = {
    "changes": "What to change, the largest saving first.",
    "profiled_kernels": "The kernels of a profile with what their names and operators say.",
}
"""What other rooms import of this one."""

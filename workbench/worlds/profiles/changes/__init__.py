"""What to change in a program by the profile of a device: each with the time that it concerns."""

DOORS = {
    "changes": "Suggested changes, the largest saving first.",
    "profiled_kernels": "The kernels of a profile, read by their names and operators.",
}
"""What other rooms import of this one."""

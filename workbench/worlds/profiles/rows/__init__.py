"""The record of what a device did: kernels, modules, gaps and steps of a profile of torch's."""

DOORS = {
    "profile_rows": "The header of a profile, and the rows of its tables.",
    "run_profile": "A profile as plain data to save, load and show.",
}
"""What other rooms import of this one."""

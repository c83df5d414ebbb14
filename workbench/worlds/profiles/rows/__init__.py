"""The record of what a device did: kernels, modules, gaps and steps of a profile of torch's."""

DOORS = {
    "profile_rows": "What is known of a profile as a whole, and the rows of its tables.",
    "run_profile": "A profile as plain data, which is saved, loaded and shown.",
}
"""What other rooms import of this one."""

"""A profile beside another record: the kernels of a report by their hash, two profiles."""

DOORS = {
    "profiled_report": "A report with the times of its kernels in a profile.",
    "profile_difference": "Compares two profiles: faster and slower work.",
}
"""What other rooms import of this one."""

"""A profile beside another record: the kernels of a report by their hash, two profiles."""

DOORS = {
    "profiled_report": "A report with the times that its kernels took in a profile.",
    "profile_difference": "What became faster or slower between two profiles.",
}
"""What other rooms import of this one."""

"""Where a device's time went while torch.profiler recorded it, and what to change."""

DOORS = {
    "reading.profile_reader": "Reads a torch.profiler trace, or a folder of ranks, as a profile.",
    "rows.run_profile": "A profile as plain data to save, load and show.",
    "matches.profiled_report": "Matches a profile with the reports of the code that ran.",
}
"""What other worlds import of this one."""

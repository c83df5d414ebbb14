"""Where a device's time went while torch.profiler recorded it, and what to change."""

DOORS = {
    "reading.profile_reader": "A trace of torch.profiler, or a folder of ranks, as a profile.",
    "rows.run_profile": "A profile as plain data, which is saved, loaded and shown.",
    "matches.profiled_report": "A profile with the records of the code that ran in it.",
}
"""What other worlds import of this one."""

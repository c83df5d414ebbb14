"""A session that records, and the trials of changes that are to take recompiles away."""

DOORS = {
    "live_session": "A session that records, from `with` or `start` until it is stopped.",
    "session_records": "What others ask to record programs, and to read such records.",
}
"""What other rooms import of this one."""

"""A session that records, and the trials of changes that are to take recompiles away."""

DOORS = {
    "live_session": "A session that records, from `with` or `start` until it stops.",
    "session_records": "The interface for recording programs and reading their sessions.",
}
"""What other rooms import of this one."""

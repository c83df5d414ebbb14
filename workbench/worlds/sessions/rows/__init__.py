"""The record of a running program: its compiles, recompiles, breaks, calls and steps."""

DOORS = {
    "session_record": "What a running program compiled and called, as plain data.",
    "session_rows": "Where a session was recorded, the rows of its tables, its reports.",
}
"""What other rooms import of this one."""

"""The record of a running program: its compiles, recompiles, breaks, calls and steps."""

DOORS = {
    "session_record": "A session as plain data: compiles and calls of a running program.",
    "session_rows": "The header of a session, the rows of its tables, its reports.",
}
"""What other rooms import of this one."""

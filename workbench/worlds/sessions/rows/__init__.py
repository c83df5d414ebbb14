"""The record of a running program: its compiles, recompiles, breaks, calls and steps."""

DOORS = {
    "session_record": "A session as plain data: compiles and calls of a running program.",
    "session_rows": "The header, table rows and reports of a session.",
}
"""What other rooms import of this one."""

"""What a program compiled while it ran: rows that logs and recorders tell, and their record."""

DOORS = {
    "program_record": "The record of a program, and the world that makes and reads such records.",
    "record_rows": "What a program compiled, as a recorder or a log tells it.",
}
"""What other rooms import of this one."""

"""What a program compiled while it ran: rows from logs and recorders, and their record."""

DOORS = {
    "program_record": "The report of a program, with the code that creates and reads it.",
    "record_rows": "Reads the compilations of a program from a recorder or a log.",
}
"""What other rooms import of this one."""

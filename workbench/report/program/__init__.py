"""What a program compiled while it ran: rows from logs and recorders, and their record."""

DOORS = {
    "program_record": "The record of a program, and the world that makes and reads such records.",
    "record_rows": "Compilations of a program, from a recorder or a log.",
}
"""What other rooms import of this one."""

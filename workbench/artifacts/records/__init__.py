"""The records that travel in files."""

DOORS = {
    "report_in": "The record of anything that has one; nothing of a file is executed.",
}
"""What other rooms import of this one."""

"""The records that travel in files."""

DOORS = {
    "report_in": "The report of anything that has one; no code of a file runs.",
}
"""What other rooms import of this one."""

"""The records that travel in files."""

DOORS = {
    "report_in": "Returns the report of any object or file that has one, without running code "
    "from the file.",
}
"""What other rooms import of this one."""

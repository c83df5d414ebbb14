"""A report as a document of blocks, and what its page carries of it."""

DOORS = {
    "packed_report": "Packs the parts of a report into a page or a saved output.",
    "report_page": "Converts a report to a document of blocks.",
}
"""What other rooms import of this one."""

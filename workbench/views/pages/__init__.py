"""A report as a document of blocks, and what its page carries of it."""

DOORS = {
    "packed_report": "The parts of a report in a page or a saved output.",
    "report_page": "A report as a document of blocks.",
}
"""What other rooms import of this one."""

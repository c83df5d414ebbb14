"""A report as a document of blocks, and what its page carries of it."""

DOORS = {
    "packed_report": "What a page or a saved output carries of a report.",
    "report_page": "A report as a document of blocks.",
}
"""What other rooms import of this one."""

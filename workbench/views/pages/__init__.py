"""Pages that open from disk, and what a notebook keeps of a view."""

DOORS = {
    "interactive": "A summary with the packed record and the script that replaces it.",
    "report_page": "A report as a page that opens from disk, and as a summary.",
}
"""What other rooms import of this one."""

"""Live views in a notebook."""

DOORS = {
    "display": "What a notebook shows for a record: a live output, and one that stays.",
    "report_view": "The live view of a report.",
}
"""What other rooms import of this one."""

"""Live views in a notebook."""

DOORS = {
    "display": "Live and saved notebook outputs of a report.",
    "report_view": "The live view of a report.",
}
"""What other rooms import of this one."""

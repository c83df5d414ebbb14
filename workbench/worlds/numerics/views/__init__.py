"""What was found of the numbers of a call, shown."""

DOORS = {
    "numerics_document": "The numerics of a call, and where two programs differ, as blocks.",
    "numerics_pane": "The pane of a report, its columns and actions.",
}
"""What other rooms import of this one."""

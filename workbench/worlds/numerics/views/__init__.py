"""What was found of the numbers of a call, shown."""

DOORS = {
    "numerics_document": "Shows the numerics of a call, and where two programs differ, as blocks.",
    "numerics_pane": "The Numerics pane of a report, with its columns and actions.",
}
"""What other rooms import of this one."""

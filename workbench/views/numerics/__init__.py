"""What was found of the numbers of a call."""

DOORS = {"numerics_document": "The numbers of a call, and where two programs part, as blocks."}
"""What other rooms import of this one."""

"""What a record keeps of the numbers of a call."""

DOORS = {
    "numerics_rows": "Where a program departs from eager, by how much, and why.",
}
"""What other rooms import of this one."""

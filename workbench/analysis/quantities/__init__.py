"""What a record says in single numbers."""

DOORS = {"quantities": "What a record says in single numbers, with unit and source."}
"""What other rooms import of this one."""

"""A record in single numbers."""

DOORS = {"quantities": "Single numbers of a report, each with its unit and source."}
"""What other rooms import of this one."""

"""What several ranks of a cluster compiled to, compared."""

DOORS = {
    "ranks": "Several ranks of a cluster, as a record that answers.",
}
"""What other rooms import of this one."""

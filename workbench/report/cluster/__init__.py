"""Rows of ranks of a cluster."""

DOORS = {
    "cluster_rows": "What a record says of a cluster, and what several ranks compiled to.",
}
"""What other rooms import of this one."""

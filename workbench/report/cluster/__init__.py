"""Rows of one rank of a cluster."""

DOORS = {
    "rank_rows": "What each of several ranks compiled to, and whether they agree.",
    "cluster_rows": "The collectives of a rank, and what a record says of the cluster.",
}
"""What other rooms import of this one."""

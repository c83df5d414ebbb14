"""Rows of ranks of a cluster."""

DOORS = {
    "cluster_rows": "What a record says of a cluster, and what several ranks compiled to.",
    "shard_groups": "What a rank holds, gathers and reduces of a model of `fully_shard`.",
}
"""What other rooms import of this one."""

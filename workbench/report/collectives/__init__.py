"""Rows of collectives: those of a program, and what `fully_shard` gathers and reduces."""

DOORS = {
    "collective_rows": "The collectives of a program, and whether two ranks start the same ones.",
    "shard_groups": "The shards, gathers and reductions of a rank with `fully_shard`.",
}
"""What other rooms import of this one."""

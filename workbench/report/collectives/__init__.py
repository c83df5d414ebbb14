"""Rows of collectives: those of a program, and what `fully_shard` gathers and reduces."""

DOORS = {
    "collective_rows": "Rows for a program's collectives; compares the collectives of two ranks.",
    "shard_groups": "The shards, gathers and reductions of a rank with `fully_shard`.",
}
"""What other rooms import of this one."""

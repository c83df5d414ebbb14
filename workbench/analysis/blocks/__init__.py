"""Blocks of a model that hooks of `fully_shard` are around, in the order in which they run."""

DOORS = {
    "block_calls": "The kernels of a call in their order, and what hooks around its blocks do.",
}
"""What other rooms import of this one."""

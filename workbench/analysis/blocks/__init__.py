"""Blocks of a model that hooks of `fully_shard` are around, in the order in which they run."""

DOORS = {
    "block_calls": "Lists the kernels of a call in program order, and the hooks around its blocks.",
}
"""What other rooms import of this one."""

"""What hooks around a module send: of DistributedDataParallel and of `fully_shard`."""

DOORS = {
    "hook_collectives": "What is compiled in place of such a module, and what its hooks send.",
}
"""What other rooms import of this one."""

"""What hooks around a module send: of DistributedDataParallel and of `fully_shard`."""

DOORS = {
    "hook_collectives": "Compiles the wrapped module, and lists the collectives of its hooks.",
}
"""What other rooms import of this one."""

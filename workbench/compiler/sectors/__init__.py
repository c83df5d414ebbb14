"""What the memory sees of a kernel: sectors that each warp's instructions touch, as counted."""

DOORS = {
    "seen_accesses": "Finds memory accesses that are not coalesced, and how to fix them.",
}
"""What other rooms import of this one."""

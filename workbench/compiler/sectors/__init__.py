"""What the memory sees of a kernel: sectors that each warp's instructions touch, as counted."""

DOORS = {
    "seen_accesses": "What the memory sees of an access, what is wrong, and what helps.",
}
"""What other rooms import of this one."""

"""What the memory sees of a kernel: sectors that each warp's instructions touch, as counted."""

DOORS = {
    "seen_accesses": "Memory coalescing of an access: its problem and its fix.",
}
"""What other rooms import of this one."""

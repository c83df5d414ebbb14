"""The time of collectives, its exposed part, and the order of their starts."""

DOORS = {
    "links": "The time of one collective by NCCL's own model, for a group's links.",
    "streams": "The timeline of a rank: its kernels, a lane for each group, and the waits.",
    "collective_order": "Whether two ranks start the same collectives in the same order.",
}
"""What other rooms import of this one."""

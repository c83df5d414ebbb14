"""The time of collectives, its exposed part, and the order of their starts."""

DOORS = {
    "links": "Models the time of one collective as NCCL does, for the links of its group.",
    "streams": "The timeline of a rank: its kernels, a lane for each process group, and the "
    "stalls.",
    "collective_order": "Checks that two ranks start the same collectives in the same order.",
}
"""What other rooms import of this one."""

"""The time of collectives, the part of it that nothing hides, and the order of their starts."""

DOORS = {
    "links": "The time of one collective by NCCL's own model, with the links that a group has.",
    "streams": "What runs at a time: the kernels, a lane for each group, and who waits for whom.",
    "collective_order": "Whether two ranks start the same collectives in the same order.",
}
"""What other rooms import of this one."""

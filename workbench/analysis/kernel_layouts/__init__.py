"""Which warp, lane and register of a block hold which element of a tensor."""

DOORS = {
    "kernel_layout": "One layout: the warp, lane and register of each element, as a table and a "
    "plot.",
}
"""What other rooms import of this one."""

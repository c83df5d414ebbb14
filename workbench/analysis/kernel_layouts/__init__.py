"""Which warp, lane and register of a block hold which element of a tensor."""

DOORS = {
    "kernel_layout": "One layout: who holds an element, as a table and as a picture.",
}
"""What other rooms import of this one."""

"""What the ranks of a cluster take to exchange, and what of it nothing hides; by models."""

DOORS = {
    "links": "The time of one collective by NCCL's own model, with the links that a group has.",
    "streams": "What runs at a time: the kernels, a lane for each group, and who waits for whom.",
}
"""What other rooms import of this one."""

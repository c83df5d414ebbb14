"""What fusion did with memory traffic, and why pairs stayed apart."""

DOORS = {
    "fusion": "The results of fusion: kinds and names of kernels, and groups with their traffic "
    "and calls.",
    "traffic": "The memory traffic of unfused operations and of fused groups.",
    "why_not": "Pairs of groups that were not fused, and why.",
}
"""What other rooms import of this one."""

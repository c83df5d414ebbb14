"""What fusion did with memory traffic, and why pairs stayed apart."""

DOORS = {
    "fusion": "Results of fusion: kinds and names of kernels, groups with their traffic, calls.",
    "traffic": "Memory traffic of unfused operations, and of fused groups.",
    "why_not": "Pairs of groups that were not fused, and why.",
}
"""What other rooms import of this one."""

"""What fusion did with memory traffic, and why pairs stayed apart."""

DOORS = {
    "fusion": "What fusion did: kinds and names of kernels, groups with their traffic, calls.",
    "traffic": "Memory traffic of operations alone, and of fused groups.",
    "why_not": "Pairs of groups that stayed apart, and why.",
}
"""What other rooms import of this one."""

"""Why two lines, nodes or kernels are not computed together."""

DOORS = {
    "apart": "Why two kernels, nodes or lines are not fused, in a sentence.",
}
"""What other rooms import of this one."""

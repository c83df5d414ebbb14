"""Why two lines, nodes or kernels are not computed together."""

DOORS = {
    "apart": "Explains in a sentence why two kernels, nodes or lines are not fused.",
}
"""What other rooms import of this one."""

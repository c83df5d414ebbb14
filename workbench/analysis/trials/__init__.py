"""What a sweep can vary and look for, and whether the rounds of two settings differ."""

DOORS = {
    "axes": "What a sweep looks for, how, and the axes inside of a kernel.",
    "medians": "Medians with their confidence, and whether two settings differ.",
}
"""What other rooms import of this one."""

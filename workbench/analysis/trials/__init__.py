"""What a sweep can vary and look for."""

DOORS = {
    "axes": "What a sweep looks for, how, and the axes inside of a kernel.",
}
"""What other rooms import of this one."""

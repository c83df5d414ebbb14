"""What a sweep can vary and look for, and what two times in turn allow to say."""

DOORS = {
    "axes": "What a sweep looks for, how, and the axes inside of a kernel.",
    "paired": "Two programs timed in turn, and the verdict that the pairs allow.",
}
"""What other rooms import of this one."""

"""What a compiled program holds in memory while it runs, read from its generated text."""

DOORS = {
    "memory": "The memory of a compiled call: its peak, and the parts of it.",
    "timeline": "Follows the generated programs, or says why their memory is not known.",
    "waste": "Avoidable memory and work.",
}
"""What other rooms import of this one."""

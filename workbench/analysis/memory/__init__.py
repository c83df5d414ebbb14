"""What a compiled program holds in memory while it runs, read from its generated text."""

DOORS = {
    "memory": "The memory of a compiled call: its peak, and the parts of the peak.",
    "timeline": "Traces memory through the generated programs, or explains why it is unknown.",
    "waste": "Avoidable memory and work.",
}
"""What other rooms import of this one."""

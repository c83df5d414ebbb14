"""What a compiled program holds in memory while it runs, read from its generated text."""

DOORS = {
    "memory": "The memory of a compiled call: its peak, and what that is made of.",
    "timeline": "Follows the generated programs, or says why their memory is not known.",
    "waste": "Memory and work that a program could do without.",
}
"""What other rooms import of this one."""

"""What one call of a compiled program takes on its GPU, by a model with its measured error."""

DOORS = {
    "forecast": "The time of one call: kernels, launches, its error, and what it leaves out.",
}
"""What other rooms import of this one."""

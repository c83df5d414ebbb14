"""What one call of a compiled program takes on its GPU, by a model with its measured error."""

DOORS = {
    "forecast": "Forecasts the time of one call from kernels and launches, with its error and "
    "what is missing.",
}
"""What other rooms import of this one."""

"""Measuring one function under many settings."""

DOORS = {
    "scheduler": "Runs the trials, each in its own process.",
    "space": "The axes with their values, and the configurations that they span.",
    "strategies": "The search strategies, their budget, and the settings of every trial.",
}
"""What other rooms import of this one."""

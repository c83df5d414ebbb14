"""Handles of the memory of compilations."""

DOORS = {
    "checkpoint": "What other activation memory budgets would bring a training step.",
    "measured": "The memory of a call, measured on the CPU, and what eager would hold.",
}
"""What other rooms import of this one."""

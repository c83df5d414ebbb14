"""Handles of the memory of compilations."""

DOORS = {
    "checkpoint": "Other activation memory budgets for a training step.",
    "measured": "The memory of a call, measured on the CPU, and eager's memory.",
}
"""What other rooms import of this one."""

"""Handles of the memory of compilations."""

DOORS = {
    "checkpoint": "Tries other activation memory budgets for a training step.",
    "measured": "Measures the memory of a call on the CPU, compiled and in eager.",
}
"""What other rooms import of this one."""

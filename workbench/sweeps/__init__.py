"""Measuring one function under many settings."""

DOORS = {
    "entry": "A sweep from its arguments to its rows.",
    "strategies": "In which order a space is tried, how much of it, and how every trial is done.",
}
"""What other rooms import of this one."""

"""Measuring one function under many settings."""

DOORS = {
    "entry": "A sweep from its arguments to its rows.",
    "measurements": "How every trial is done, and the times and memory that it measures.",
    "strategies": "In which order a space is tried, and how much of it.",
}
"""What other rooms import of this one."""

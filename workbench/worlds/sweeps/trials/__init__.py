"""Measuring one function under many settings."""

DOORS = {
    "scheduler": "What runs the settings, each in a process of its own.",
    "space": "What is varied: the axes with their values, and the settings that come of them.",
    "strategies": "In which order a space is tried, how much of it, and how every trial is done.",
}
"""What other rooms import of this one."""

"""Calls repeated: timed, their memory counted, their prints kept."""

DOORS = {
    "call_memory": "What calls hold in memory, counted without data or by torch's profiler.",
    "silence": "What one thread prints is kept from the screen.",
    "timing": "Times repeated calls, and what their generated programs call.",
}
"""What other rooms import of this one."""

"""Calls repeated: timed, their memory counted, their prints kept."""

DOORS = {
    "call_memory": "The memory of calls, counted without data or by torch's profiler.",
    "silence": "Hides the output of one thread.",
    "timing": "Times repeated calls, and what their generated programs call.",
}
"""What other rooms import of this one."""

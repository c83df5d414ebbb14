"""Calls repeated: timed, their memory counted, their prints kept."""

DOORS = {
    "call_memory": "Counts the memory of calls without data or with torch's profiler.",
    "silence": "Hides the output of one thread.",
    "timing": "Times repeated calls, and the calls that their generated programs make.",
}
"""What other rooms import of this one."""

"""Looks at the numbers of what was compiled, on inputs of the user."""

DOORS = {
    "numerics_actions": "What a live view starts about the numbers of a call.",
    "live_numerics": "Where a compiled call departs from eager, and what is alive behind that.",
    "loaded_numerics": "The numbers of what was loaded: its outputs, its kernels where known.",
}
"""What other rooms import of this one."""

"""What a user holds: compiled functions, packages, jobs and what they answer."""

DOORS = {
    "compiled": "A compiled function: called like eager, checked on every call.",
    "cross_compiled": "A compilation for a virtual GPU: inspected, not called here.",
}
"""What other rooms import of this one."""

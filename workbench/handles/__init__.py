"""What a user holds: compiled functions, packages, jobs and what they answer."""

DOORS = {
    "compiled": "A compiled function: called like the original, checked on every call.",
    "cross_compiled": "What was compiled for a virtual GPU: looked at, not called here.",
}
"""What other rooms import of this one."""

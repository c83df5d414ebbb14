"""What a user holds: compiled functions, packages, jobs and what they answer."""

DOORS = {
    "compiled": "A compiled function, called like the eager one and checked on every call.",
    "cross_compiled": "A compilation for a virtual GPU, which can be inspected but not called "
    "here.",
}
"""What other rooms import of this one."""

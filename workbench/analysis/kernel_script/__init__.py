"""A kernel as a script of its own: inputs, call, comparison with eager, time."""

DOORS = {
    "script": "A kernel as a standalone script.",
}
"""What other rooms import of this one."""

"""Compiles for what is asked: a device here, a GPU that is not, a few layers of a model."""

DOORS = {
    "dispatch": "Compiles for a target, or recompiles from a file.",
    "fits": "Estimates from two shallow copies whether a model fits into a GPU.",
}
"""What other rooms import of this one."""

"""Compiles for what is asked: a device here, a GPU that is not, a few layers of a model."""

DOORS = {
    "dispatch": "Compiles for a target, or again from a file.",
    "fits": "Whether a model fits on a GPU, from two shallow copies.",
}
"""What other rooms import of this one."""

"""Writes compilations to `.aot` files."""

DOORS = {
    "save": "Writes a compilation, for this machine or for one that has the GPU.",
}
"""What other rooms import of this one."""

"""Writes compilations to `.aot` files."""

DOORS = {
    "save": "Writes a compilation to a file, for this machine or for one with the target GPU.",
}
"""What other rooms import of this one."""

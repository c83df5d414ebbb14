"""Compilations written to `.aot` files, and made from them."""

DOORS = {
    "load": "A `Compiled` made from an `.aot` file.",
    "loaders": "What opens each kind of file that can be called.",
    "save": "Writes a compilation, for this machine or for one that has the GPU.",
}
"""What other rooms import of this one."""

"""Artifacts and packages as files: their kinds, read and written."""

DOORS = {
    "aot_container": "Writes `.aot` files atomically, and checks them when reading.",
    "file_kinds": "Opens every kind of file, and reports what can load it.",
    "package_container": "Reads and writes `.pt2` files, from torch or aot-workbench.",
}
"""What other rooms import of this one."""

"""A compiled function written to an `.aot` file: taken apart, read back, built for others."""

DOORS = {
    "saveable": "Removes the objects that prevent a compiled function from being saved.",
    "serialized": "Serializes a compiled function, with its kernels as libraries.",
    "written_artifact": "Writes the file after reading it back.",
}
"""What other rooms import of this one."""

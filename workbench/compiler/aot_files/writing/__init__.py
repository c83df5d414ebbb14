"""A compiled function written to an `.aot` file: taken apart, read back, built for others."""

DOORS = {
    "saveable": "Removes or leaves out what keeps a compiled function from being saved.",
    "serialized": "A compiled function as bytes, its kernels as libraries, names to rebind.",
    "written_artifact": "Writes the file after reading it back.",
}
"""What other rooms import of this one."""

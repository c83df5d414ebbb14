"""The graphs that Inductor lowered, as plain data that another process can run."""

DOORS = {
    "captured": "Keeps the graphs of a compilation, with what its kernels write.",
    "program_parts": "A compiled program in parts that another process can keep or run.",
}
"""What other rooms import of this one."""

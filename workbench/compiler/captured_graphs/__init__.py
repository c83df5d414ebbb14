"""The graphs that Inductor lowered, as plain data that another process can run."""

DOORS = {
    "captured": "Keeps the graphs of a compilation and the buffers that its kernels write.",
    "program_parts": "Splits a compiled program into parts that another process can run.",
}
"""What other rooms import of this one."""

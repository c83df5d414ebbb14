"""The graphs that Inductor lowered, as plain data that another process can run."""

DOORS = {
    "captured": "Keeps the graphs of a compilation, with what its kernels write.",
    "captured_nodes": "The nodes of such a graph: operators, references, bodies of loops.",
}
"""What other rooms import of this one."""

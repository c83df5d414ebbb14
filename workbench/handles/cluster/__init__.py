"""What ranks of clusters compile to."""

DOORS = {
    "compiled_meshes": "Compiles the first rank of meshes of several sizes.",
    "compiled_ranks": "Compiles and compares what several ranks run, each by itself.",
}
"""What other rooms import of this one."""

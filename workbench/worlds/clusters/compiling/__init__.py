"""What ranks of clusters compile to."""

DOORS = {
    "compiled_meshes": "Compiles the first rank of meshes of several sizes.",
    "compiled_ranks": "Compiles and compares what several ranks run, each by itself.",
    "virtual_cluster": "Being one rank of a cluster that is not there.",
}
"""What other rooms import of this one."""

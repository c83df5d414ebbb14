"""What ranks of clusters compile to."""

DOORS = {
    "compiled_meshes": "Compiles the first rank of meshes of several sizes.",
    "compiled_ranks": "Compiles several ranks, each separately, and compares them.",
    "virtual_cluster": "Runs as one rank of a cluster that does not exist.",
}
"""What other rooms import of this one."""

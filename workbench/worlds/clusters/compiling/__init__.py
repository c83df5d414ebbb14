"""What ranks of clusters compile to."""

DOORS = {
    "compiled_meshes": "Compiles the first rank of meshes of several sizes.",
    "compiled_ranks": "Compiles several ranks separately and compares them.",
    "virtual_cluster": "Runs this process as one rank of a virtual cluster.",
}
"""What other rooms import of this one."""

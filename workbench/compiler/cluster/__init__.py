"""One rank of a cluster that is not there: its process groups and meshes, here and in a worker."""

DOORS = {
    "cluster": "What one rank knows of the others, being that rank, and a fake group of any size.",
}
"""What other rooms import of this one."""

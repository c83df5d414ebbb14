"""What ranks of clusters compiled to, compared: several of one, and one of several."""

DOORS = {
    "ranks": "Several ranks of a cluster, as a record that answers.",
    "scaling": "One program on meshes of several sizes, as a record that answers.",
}
"""What other rooms import of this one."""

"""What ranks of clusters compiled to, compared: several of one, and one of several."""

DOORS = {
    "ranks": "The result for several ranks of a cluster.",
    "scaling": "The result for one program on meshes of several sizes.",
}
"""What other rooms import of this one."""

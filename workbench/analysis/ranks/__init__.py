"""What ranks of clusters compiled to, compared: several of one, and one of several."""

DOORS = {
    "ranks": "Several ranks of a cluster, as a record that answers.",
    "logged_ranks": "The processes of one run, compared by their logs.",
    "scaling": "One program on meshes of several sizes, as a record that answers.",
}
"""What other rooms import of this one."""

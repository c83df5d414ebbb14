"""What several ranks of a cluster compiled to, compared."""

DOORS = {
    "ranks": "Several ranks of a cluster, as a record that answers.",
    "logged_ranks": "The processes of one run, compared by their logs.",
}
"""What other rooms import of this one."""

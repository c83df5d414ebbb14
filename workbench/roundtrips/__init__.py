"""The round trip: a file in fresh processes, several ways, timed and compared with eager."""

DOORS = {
    "trip": "Each way in a process of its own, compared with eager, summed up.",
}
"""What other rooms import of this one."""

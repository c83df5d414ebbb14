"""The round trip: a file in fresh processes, several ways, timed and compared with eager."""

DOORS = {
    "trip": "Runs each start-up mode in its own process, and compares it with eager.",
}
"""What other rooms import of this one."""

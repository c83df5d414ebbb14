"""What several ranks of a cluster compile to."""

DOORS = {
    "ranks": "Compiles and compares what several ranks run, each in a virtual cluster of its own.",
}
"""What other rooms import of this one."""

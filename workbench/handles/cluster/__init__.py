"""What several ranks of a cluster compile to."""

DOORS = {
    "compiled_ranks": "Compiles and compares what several ranks run, each by itself.",
}
"""What other rooms import of this one."""

"""What torch does during a compilation, recorded as the tables of a report."""

DOORS = {
    "graph_breaks": "Graph breaks and recompilations, each on the innermost user line.",
    "recorder": "Everything that torch does inside of a `with`, as a report.",
    "runtime_estimators": "What torch's partitioner, and its overlap passes, ask for times.",
}
"""What other rooms import of this one."""

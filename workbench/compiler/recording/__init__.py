"""What torch does during a compilation, recorded as the tables of a report."""

DOORS = {
    "graph_breaks": "Graph breaks and recompilations, each on the innermost user line.",
    "recorder": "Everything that torch does inside a `with`, as a report.",
    "runtime_estimators": "The runtime estimators of torch's partitioner and overlap passes.",
}
"""What other rooms import of this one."""

"""What torch does during a compilation, recorded as the tables of a report."""

DOORS = {
    "graph_breaks": "Records graph breaks and recompilations at the innermost line of user code.",
    "recorder": "Records everything that torch does inside a `with` block, as a report.",
    "runtime_estimators": "The runtime estimators of torch's partitioner and overlap passes.",
}
"""What other rooms import of this one."""

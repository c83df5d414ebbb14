"""What torch does during a compilation, recorded as the tables of a report."""

DOORS = {
    "graph_breaks": "Graph breaks and recompilations, each on the innermost user line.",
    "recorder": "Everything that torch does inside of a `with`, as a report.",
    "roofline_estimator": "What torch's partitioner asks for an operator's time.",
}
"""What other rooms import of this one."""

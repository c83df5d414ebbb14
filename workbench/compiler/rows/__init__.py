"""Rows of a compilation, from what a recorder sees or a log holds; nothing here imports torch."""

DOORS = {
    "dynamo_rows": "Graph breaks, recompilations, the answers of caches.",
    "graph_rows": "Graphs of every stage and their nodes, tied to those before.",
    "kernel_rows": "Kernels, and what they and the other rows of a report are tied to.",
    "phase_rows": "The timeline: phases inside of phases, one stack for each thread.",
}
"""What other rooms import of this one."""

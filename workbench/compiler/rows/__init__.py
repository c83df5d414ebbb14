"""Rows of a compilation, from what a recorder sees or a log holds; nothing here imports torch."""

DOORS = {
    "dynamo_rows": "Graph breaks, recompilations, guards, cache hits.",
    "phase_rows": "The timeline: nested phases, one stack for each thread.",
    "program_rows": "Graphs, nodes and kernels, and their links.",
}
"""What other rooms import of this one."""

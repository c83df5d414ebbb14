"""Rows of a compilation, from what a recorder sees or a log holds; nothing here imports torch."""

DOORS = {
    "dynamo_rows": "Rows for graph breaks, recompilations, guards and cache hits.",
    "phase_rows": "Rows for the timeline: nested phases, with one stack for each thread.",
    "program_rows": "Rows for graphs, nodes and kernels, and for the links between them.",
}
"""What other rooms import of this one."""

"""What configurations of a kernel show: those of a record."""

DOORS = {
    "config_map": "Computes the axes and cells of a heat map of configurations.",
    "ranked_answer": "Shows ranked configurations as a table, a heat map, a page and a summary.",
}
"""What other rooms import of this one."""

"""What configurations of a kernel show: those of a record."""

DOORS = {
    "config_map": "A heat map of configurations: its axes and cells.",
    "ranked_answer": "Ranked configurations as a table, a heat map, a page and a summary.",
}
"""What other rooms import of this one."""

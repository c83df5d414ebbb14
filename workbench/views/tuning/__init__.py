"""What configurations of a kernel show: those of a record, and those of a tuned kernel."""

DOORS = {
    "ranked_answer": "What ranked configurations answer: a table, a heat map, a page, a summary.",
    "tuned_answer": "What tuned configurations answer: a table, heat maps, a page, a summary.",
}
"""What other rooms import of this one."""

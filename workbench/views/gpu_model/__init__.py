"""What matrices, ranked configurations and models of launches show."""

DOORS = {
    "launches_answer": "What the model of launches answers: a table, two timelines, a few lines.",
    "matrix_answer": "What a matrix answers: tables, heat maps, a page, a summary.",
    "ranked_answer": "What ranked configurations answer: a table, a heat map, a page, a summary.",
}
"""What other rooms import of this one."""

"""What matrices and models of launches show."""

DOORS = {
    "call_answer": "Launches and forecasts as text, pages and charts.",
    "layout_answer": "The layout of a tensor as rows and as a picture.",
    "matrix_answer": "A matrix as tables, heat maps, a page and a summary.",
}
"""What other rooms import of this one."""

"""What matrices and models of launches show."""

DOORS = {
    "call_answer": "Shows launches and forecasts as text, pages and charts.",
    "layout_answer": "Shows the layout of a tensor as rows and as a diagram.",
    "matrix_answer": "Shows a matrix as tables, heat maps, a page and a summary.",
}
"""What other rooms import of this one."""

"""What matrices and models of launches show."""

DOORS = {
    "call_answer": "What the models of one call answer: launches, and a forecast.",
    "layout_answer": "Who holds which element of a tensor, as rows and as a picture.",
    "matrix_answer": "What a matrix answers: tables, heat maps, a page, a summary.",
}
"""What other rooms import of this one."""

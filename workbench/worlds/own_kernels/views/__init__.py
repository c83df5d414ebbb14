"""A tuned kernel as text, tables and charts."""

DOORS = {
    "tuned_answer": "What tuned configurations answer: a table, heat maps, a page, a summary.",
}
"""What other rooms import of this one."""

"""A tuned kernel as text, tables and charts."""

DOORS = {
    "tuned_answer": "Tuned configurations as a table, heat maps, a page and a summary.",
}
"""What other rooms import of this one."""

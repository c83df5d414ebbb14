"""A tuned kernel as text, tables and charts."""

DOORS = {
    "tuned_answer": "Shows tuned configurations as a table, heat maps, a page and a summary.",
}
"""What other rooms import of this one."""

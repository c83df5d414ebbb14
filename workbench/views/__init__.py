"""What a person looks at: a report as text, tables, figures, a page."""

DOORS = {
    "document": "A report as the one document that a view shows at rest; plain JSON-ready data.",
}
"""What other rooms import of this one; records find `presenters` by its name."""

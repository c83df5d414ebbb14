"""What a person looks at: a report as text, tables, figures, a page."""

DOORS = {
    "document": "A report as the one document that a view shows at rest; plain JSON-ready data.",
    "perfetto": "Events over time as a trace that Perfetto and chrome://tracing open.",
    "presenters": "What shows records of every kind; the package hands it down to them.",
}
"""What other rooms import of this one."""

"""What a person looks at: a report as text, tables, figures, a page."""

DOORS = {
    "document": "A report as the one document that a view shows at rest; plain JSON-ready data.",
    "perfetto": "Events over time as a trace for Perfetto and chrome://tracing.",
    "presenters": "The presenter of each kind of report.",
}
"""What other rooms import of this one."""

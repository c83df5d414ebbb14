"""What a person looks at: a report as text, tables, figures, a page."""

DOORS = {
    "document": "A report as JSON-ready data for the initial view.",
    "perfetto": "Events over time as a trace for Perfetto and chrome://tracing.",
    "presenters": "The presenter of each kind of report.",
}
"""What other rooms import of this one."""

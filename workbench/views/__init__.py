"""What a person looks at: a report as text, tables, figures, a page."""

DOORS = {
    "document": "Converts a report to JSON-ready data for the initial view.",
    "perfetto": "Writes events over time as a trace for Perfetto and chrome://tracing.",
    "presenters": "Finds the presenter for each kind of report.",
}
"""What other rooms import of this one."""

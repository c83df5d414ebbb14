"""What a person looks at: a report as text, tables, figures, a page."""

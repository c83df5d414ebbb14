"""Two compilations compared, as text, tables, a page and a widget."""

DOORS = {
    "diff_page": "Shows a difference as a document, an HTML page and a saved output.",
    "diff_text": "Writes a difference as text, sentences and tables.",
}
"""What other rooms import of this one."""

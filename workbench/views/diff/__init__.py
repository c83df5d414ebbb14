"""Two compilations compared, as text, tables, a page and a widget."""

DOORS = {
    "diff_page": "A difference as a document, as a page and as a saved output.",
    "diff_text": "A difference as text, sentences and tables.",
}
"""What other rooms import of this one."""

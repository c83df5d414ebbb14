"""Two compilations compared, as text, tables, a page and a widget."""

DOORS = {
    "diff_page": "A difference as the document of a view, as a page, as what a notebook keeps.",
    "diff_text": "A difference as text, sentences and tables.",
}
"""What other rooms import of this one."""

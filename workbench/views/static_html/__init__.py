"""Any document as HTML for where no script runs: GitHub, an untrusted notebook, mail."""

DOORS = {
    "grids": "Tables of rows in words, and how much is shown of a document.",
    "render": "The one renderer: a template, a skin, a document.",
    "static_report": "The document of a report as the body of a page and as a summary.",
}
"""What other rooms import of this one."""

"""Any document as HTML for where no script runs: GitHub, an untrusted notebook, mail."""

DOORS = {
    "render": "Renders a document of blocks as HTML.",
}
"""What other rooms import of this one."""

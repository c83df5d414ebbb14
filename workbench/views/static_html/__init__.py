"""Any document as HTML for where no script runs: GitHub, an untrusted notebook, mail."""

DOORS = {
    "render": "The one way from a document of blocks to HTML.",
}
"""What other rooms import of this one."""

"""What a file says of itself, as typed rows."""

DOORS = {
    "manifest": "What an artifact is, needs, checks and consists of.",
    "package_manifest": "What the models of a `.pt2` package take, need and consist of.",
}
"""What other rooms import of this one."""

"""What a file says of itself, as typed rows."""

DOORS = {
    "manifest": "The manifest of an artifact: its needs, checks and parts.",
    "package_manifest": "The manifest of a `.pt2` package: inputs, needs and parts of its models.",
}
"""What other rooms import of this one."""

"""What a file says of itself, as typed rows."""

DOORS = {
    "manifest": "The manifest of an artifact: its requirements, checks and parts.",
    "package_manifest": "The manifest of a `.pt2` package: the inputs, requirements and parts of "
    "its models.",
}
"""What other rooms import of this one."""

"""Artifacts and packages as files: their kinds, read and written."""

DOORS = {
    "aot_container": "The `.aot` file, written at once and checked when it is read.",
    "file_kinds": "Opens every kind of file and says what can load it.",
    "package_container": "The `.pt2` file, torch's or ours.",
}
"""What other rooms import of this one."""

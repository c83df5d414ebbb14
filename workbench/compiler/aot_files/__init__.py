"""Compiled functions in files: read, checked, put together, called."""

DOORS = {
    "deserialize": "Makes verified bytes callable, without a compiler.",
    "file_tables": "A saved file as tables of the report.",
    "loaded_artifact": "Makes a trusted file callable.",
}
"""What other rooms import of this one."""

"""Compiled functions in files: read, checked, put together, called."""

DOORS = {
    "deserialize": "Verified bytes made into something callable, without a compiler.",
    "file_tables": "A saved file as tables of the report.",
    "loaded_artifact": "A file on disk made into something callable, once it is trusted.",
}
"""What other rooms import of this one."""

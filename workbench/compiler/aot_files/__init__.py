"""Compiled functions in files: read, checked, put together, called."""

DOORS = {
    "deserialize": "Turns verified bytes into a callable, without a compiler.",
    "file_tables": "Describes a saved file in tables of the report.",
    "loaded_artifact": "Turns a trusted file into a callable.",
}
"""What other rooms import of this one."""

"""Zip files whose members are stored as they are: checked, read by ranges, written whole."""

DOORS = {"members": "The frame of a zip file, its members and their bytes."}
"""What other rooms import of this one."""

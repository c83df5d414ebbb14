"""Zip files whose members are stored as they are: checked, read by ranges, written whole."""

DOORS = {"members": "Reads the directory, the members and the bytes of a zip file."}
"""What other rooms import of this one."""

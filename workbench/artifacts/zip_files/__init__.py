"""Zip files whose members are stored as they are: checked, read by ranges, written whole."""

DOORS = {
    "members": "The members of a zip file: their bytes, verified copies of them, new ones.",
    "zip_frame": "The frame of a zip file, checked before anything is used, and its seal.",
}
"""What other rooms import of this one."""

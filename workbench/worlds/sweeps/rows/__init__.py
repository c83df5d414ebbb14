"""Rows of sweeps: what can be varied, and the files that keep them."""

DOORS = {
    "axes": "Objectives, strategies, and the axes inside a kernel.",
    "stored_sweeps": "Sweeps in the store of finished trials.",
    "table_files": "Writes a sweep to a table file, and reads it back.",
}
"""What other rooms import of this one."""

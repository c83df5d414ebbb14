"""Rows of sweeps: what can be varied, and the files that keep them."""

DOORS = {
    "axes": "What a sweep looks for, how, and the axes inside of a kernel.",
    "stored_sweeps": "Sweeps in the store of finished trials.",
    "table_files": "A sweep as a file for other programs, read back.",
}
"""What other rooms import of this one."""

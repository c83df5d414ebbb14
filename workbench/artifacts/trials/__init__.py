"""Trials that have ended, in a file that several processes share."""

DOORS = {
    "store": "Finished trials in a file, of this user or of another one.",
}
"""What other rooms import of this one."""

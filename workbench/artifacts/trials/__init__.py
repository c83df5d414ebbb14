"""Trials that have ended, in a file that several processes share."""

DOORS = {
    "store": "A file of finished trials, written by this or another user.",
}
"""What other rooms import of this one."""

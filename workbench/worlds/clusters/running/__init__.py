"""Runs every rank of a small cluster in this process, and compares each with eager code."""

DOORS = {
    "verification": "Compares each rank of a compiled call with eager and the unsharded model.",
}
"""What other rooms import of this one."""

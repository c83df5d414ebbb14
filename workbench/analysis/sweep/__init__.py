"""A sweep as a table: what it measured, which setting to take."""

DOORS = {
    "recommendation": "Which setting to take, how sure that is, and its line of code.",
    "store": "Finished trials and sweeps in a file, of this user or of another one.",
    "sweep": "A sweep as a table, with all that it can be asked.",
}
"""What other rooms import of this one."""

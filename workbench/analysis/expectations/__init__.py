"""What a program is expected to compile to, and what it did compile to."""

DOORS = {
    "baseline": "Compares a record with an earlier one: nothing may have become more.",
    "expectation": "Compares a record with what was expected of it.",
    "quantities": "What a record says in single numbers, with unit and source.",
}
"""What other rooms import of this one."""

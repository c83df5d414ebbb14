"""A profile of a device as text, tables and sentences."""

DOORS = {
    "profile_answer": "A profile as text, in sentences and as tables.",
}
"""What other rooms import of this one."""

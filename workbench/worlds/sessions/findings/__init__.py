"""What a session says: why frames were compiled again, what to change, its numbers."""

DOORS = {
    "advice": "Suggested changes, the most expensive first; why a step was slow.",
    "session_comparison": "Compares two sessions of one program.",
    "session_quantities": "The scalar figures of a session.",
}
"""What other rooms import of this one."""

"""What a session says: why frames were compiled again, what to change, its numbers."""

DOORS = {
    "advice": "Suggested changes, the most expensive first; why a step was slow.",
    "session_comparison": "Two sessions of one program compared.",
    "session_quantities": "The single numbers of a session.",
}
"""What other rooms import of this one."""

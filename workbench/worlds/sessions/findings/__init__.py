"""What a session says: why frames were compiled again, what to change, its numbers."""

DOORS = {
    "advice": "What to change in a program, the costliest first; why a step was slow.",
    "session_comparison": "Two sessions of one program compared.",
    "session_quantities": "What a session says in single numbers.",
}
"""What other rooms import of this one."""

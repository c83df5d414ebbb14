"""What the record of a running program says: why frames were compiled again, what to change."""

DOORS = {
    "advice": "What to change in a program, the costliest first; why a step was slow.",
    "nothing": "Why nothing of a program was compiled.",
    "session_comparison": "Two sessions of one program compared.",
}
"""What other rooms import of this one."""

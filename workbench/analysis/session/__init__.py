"""What the record of a running program says: why frames were compiled again, what to change."""

DOORS = {
    "advice": "What to change in a program, the costliest first; why a step was slow.",
    "eager_code": "Why code runs eagerly: at graph breaks, or as nothing was compiled.",
    "session_comparison": "Two sessions of one program compared.",
}
"""What other rooms import of this one."""

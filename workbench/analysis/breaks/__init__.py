"""Graph breaks: the statement at each, and the changes that remove it."""

DOORS = {
    "broken_statement": "The statement at a break as a tree, and its fixes.",
    "cures": "The known fixes of a break, and advice where there is none.",
    "rewrites": "Equivalent lines without the break.",
}
"""What other rooms import of this one."""

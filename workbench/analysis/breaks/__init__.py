"""Graph breaks: the statement at each, and the changes that remove it."""

DOORS = {
    "broken_statement": "The statement at a break as a tree, and what a cure of it is.",
    "cures": "The cures that are known for a break, and what to do where there is none.",
    "rewrites": "Changes of lines that do what was meant without the break.",
}
"""What other rooms import of this one."""

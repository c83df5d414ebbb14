"""Graph breaks: the statement at each, and the changes that remove it."""

DOORS = {
    "broken_statement": "Parses the statement at a graph break, and finds its fixes.",
    "cures": "The known fixes of a graph break, or advice if there is none.",
    "rewrites": "Rewrites lines into equivalent ones without the break.",
}
"""What other rooms import of this one."""

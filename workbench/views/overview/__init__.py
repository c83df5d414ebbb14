"""What the Overview says first: one sentence, and where the cost of a call goes."""

DOORS = {
    "answer": "The headline of a report, and its chips.",
}
"""What other rooms import of this one."""

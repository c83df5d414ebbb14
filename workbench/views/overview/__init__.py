"""What the Overview says first: one sentence, and where the cost of a call goes."""

DOORS = {
    "answer": "The sentence that matters for a record, and what else is remarkable in it.",
}
"""What other rooms import of this one."""

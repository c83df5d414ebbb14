"""What the Overview says first: one sentence, and where the cost of a call goes."""

DOORS = {
    "answer": "The sentence that matters for a record, and what else is remarkable in it.",
    "cost_tree": "The trees of lines and of modules as rows of the view.",
}
"""What other rooms import of this one."""

"""What logs show beside reports and sessions."""

DOORS = {
    "rank_answer": "The ranks of a run, by their logs.",
}
"""What other rooms import of this one."""

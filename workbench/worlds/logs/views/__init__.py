"""What logs show beside reports and sessions."""

DOORS = {
    "rank_answer": "Shows the ranks of one run, compared by their logs.",
}
"""What other rooms import of this one."""

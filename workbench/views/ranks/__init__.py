"""What ranks of a cluster show."""

DOORS = {
    "rank_answers": "Ranks compiled here, or read of logs, as text, fragment and page.",
}
"""What other rooms import of this one."""

"""Two programs timed in turn."""

DOORS = {
    "paired_rounds": "Times two calls in turn, round by round.",
}
"""What other rooms import of this one."""

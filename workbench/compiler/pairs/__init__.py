"""Two programs timed in turn."""

DOORS = {
    "paired_rounds": "Times two calls, interleaved round by round.",
}
"""What other rooms import of this one."""

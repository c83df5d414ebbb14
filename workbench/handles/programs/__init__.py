"""Handles of programs that run under plain torch.compile."""

DOORS = {
    "session": "A session that records, from `with` or `start` until it is stopped.",
}
"""What other rooms import of this one."""

"""Hooks that watch what plain torch.compile does in a running program."""

DOORS = {
    "session_recorder": "The recorder of all that torch.compile does until it is stopped.",
}
"""What other rooms import of this one."""

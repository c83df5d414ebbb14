"""Hooks that watch what plain torch.compile does in a running program."""

DOORS = {
    "session_recorder": "The recorder of torch.compile in a running program.",
}
"""What other rooms import of this one."""

"""Hooks that watch what plain torch.compile does in a running program."""

"""Worlds: each folder adds rows, panes, actions and names, and can be deleted."""

DOORS = {"world": "What a world may add, and the worlds that are installed."}
"""What other rooms import of this one."""

"""Worlds: each folder adds rows, panes, actions and names, and can be deleted."""

DOORS = {"world": "The interface of a world, and the installed worlds."}
"""What other rooms import of this one."""

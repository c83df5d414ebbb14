"""Where compiled code departs from eager in its numbers, why, and what would change it."""

DOORS: dict[str, str] = {}
"""What other rooms import of this one: nothing, they ask its `World`."""

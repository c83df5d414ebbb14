"""What plain torch.compile does while a program runs, why, and what to change."""

DOORS: dict[str, str] = {}
"""What other rooms import of this one: nothing, they ask its `World`."""

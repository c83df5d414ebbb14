"""Ranks of clusters that need not be there: compiled, compared, verified, scaled."""

DOORS: dict[str, str] = {}
"""What other rooms import of this one: nothing, they ask its `World`."""

"""What a program may compile to: limits and baselines, in a script and in tests."""

DOORS: dict[str, str] = {}
"""What other rooms import of this one: nothing, they ask its `World`."""

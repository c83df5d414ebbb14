"""Kernels that a user wrote, and single kernels of a program: compiled, checked, tuned."""

DOORS: dict[str, str] = {}
"""What other rooms import of this one: nothing, they ask its `World`."""

"""Logs of torch's structured trace and of tritonparse, as reports and sessions."""

DOORS: dict[str, str] = {}
"""What other rooms import of this one: nothing, they ask its `World`."""

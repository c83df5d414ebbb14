"""Repeated calls, timed launches, outputs compared."""

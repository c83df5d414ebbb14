"""Cures of graph breaks, each applied to a copy, captured again, run and compared."""

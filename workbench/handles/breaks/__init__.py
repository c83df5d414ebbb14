"""Cures of graph breaks, tried on copies of living functions and modules."""

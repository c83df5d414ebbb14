"""Cures of graph breaks: what can be tried for each, and what came of it."""

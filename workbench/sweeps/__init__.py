"""Measuring one function under many settings."""

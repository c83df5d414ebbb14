"""Handles of the memory of compilations."""

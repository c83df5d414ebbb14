"""Artifacts on disk: bytes, hashes and trust; nothing here imports torch."""

"""Triton's language on the CPU, many programs at once."""

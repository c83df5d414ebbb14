"""Compiled functions as bytes: taken apart, written, read, put together."""

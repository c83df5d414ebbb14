"""What became of each source line, and what could be written instead."""

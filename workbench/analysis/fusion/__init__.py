"""What fusion did with memory traffic, and why pairs stayed apart."""

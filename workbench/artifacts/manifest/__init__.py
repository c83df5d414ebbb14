"""What a file says of itself, as typed rows."""

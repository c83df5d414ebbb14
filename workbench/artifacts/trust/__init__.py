"""Who vouches for a file."""

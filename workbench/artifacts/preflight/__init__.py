"""What a file needs, compared with a machine."""

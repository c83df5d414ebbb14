"""What makes the first compilation in a process quick."""

"""What is shown of the memory of a compiled call."""

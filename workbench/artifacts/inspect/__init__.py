"""What is inside a file, learnt without executing anything from it."""

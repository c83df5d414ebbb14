"""What a machine has, and what libraries and GPU code need of it."""

"""The GPU that torch and Triton see while a virtual one is there."""

"""Compiling for a virtual GPU, in a worker process."""

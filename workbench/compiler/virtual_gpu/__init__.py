"""Compiling for a GPU that is not in this machine, in a worker process."""

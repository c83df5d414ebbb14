"""A kernel as a script of its own: inputs, call, comparison with eager, time."""

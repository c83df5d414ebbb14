"""Private names of torch, hooks into it and its global state."""

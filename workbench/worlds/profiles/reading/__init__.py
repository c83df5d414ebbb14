"""Traces that torch.profiler wrote of a device, read without torch."""

DOORS = {
    "profile_reader": "A trace of torch.profiler, or a folder of ranks, as a profile.",
}
"""What other rooms import of this one."""

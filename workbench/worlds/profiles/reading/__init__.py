"""Traces that torch.profiler wrote of a device, read without torch."""

DOORS = {
    "profile_reader": "A torch.profiler trace, or a folder of ranks, as a profile.",
}
"""What other rooms import of this one."""

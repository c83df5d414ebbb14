"""Traces that torch.profiler wrote of a device, read without torch."""

DOORS = {
    "profile_reader": "Reads a torch.profiler trace, or a folder with one per rank, as a profile.",
}
"""What other rooms import of this one."""

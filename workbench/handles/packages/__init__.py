"""Packages as they are made and opened: here, for a virtual GPU, as one of several variants."""

DOORS = {
    "comparisons": "A package compared with its original, and its memory with what was counted.",
    "frame_variants": "Code with graph breaks and several variants, recorded or from a file.",
    "package": "A package in this process, called like its model; how one is made.",
}
"""What other rooms import of this one."""

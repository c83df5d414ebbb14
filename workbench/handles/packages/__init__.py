"""Packages as they are made: here, for a virtual GPU, as one of several variants."""

DOORS = {
    "frame_variants": "Code with graph breaks and several variants, recorded or from a file.",
    "new_package": "From requests to a package: compiled, written, opened.",
    "open_package": "A package in this process, called like its model, from several threads.",
}
"""What other rooms import of this one."""

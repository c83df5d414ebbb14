"""Opens files that can be called, and functions with several variants."""

DOORS = {
    "frame_variants": "Code with graph breaks and several variants, recorded or from a file.",
    "load": "A `Compiled` made from an `.aot` file.",
    "loaders": "The loader for each kind of callable file.",
}
"""What other rooms import of this one."""

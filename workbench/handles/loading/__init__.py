"""Opens files that can be called, and functions with several variants."""

DOORS = {
    "frame_variants": "Functions with graph breaks and several variants, recorded or loaded from "
    "a file.",
    "load": "Loads a `Compiled` from an `.aot` file.",
    "loaders": "Finds the loader for each kind of callable file.",
}
"""What other rooms import of this one."""

"""Code with graph breaks in an `.aotv` file: recorded, written, put under its function."""

DOORS = {
    "recorded_variants": "Records each frame of a function, its variants and their graphs.",
    "variant_files": "Writes recorded code to a file, and attaches loaded code to its function.",
}
"""What other rooms import of this one."""

"""A model written to a `.pt2` package: torch.export, AOTInductor, the archive and its manifest."""

DOORS = {
    "inductor_library": "Compiles the library of an exported program, here or in a worker.",
    "package_request": "The request for a package, and the call that created a file.",
    "writing": "Compiles a package and writes the file, or adds a variant to an existing file.",
}
"""What other rooms import of this one."""

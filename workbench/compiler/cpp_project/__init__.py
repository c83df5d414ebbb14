"""A CMake project that runs a model of a package from C++."""

DOORS = {
    "project": "Writes and builds a small CMake project that runs one model of a package from C++.",
}
"""What other rooms import of this one."""

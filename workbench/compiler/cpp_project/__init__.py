"""A CMake project that runs a model of a package from C++."""

DOORS = {
    "cmake_build": "Building one program of a project in C++ with CMake, as its README says.",
    "project": "Writing a small CMake project that runs one model of a package from C++.",
}
"""What other rooms import of this one."""

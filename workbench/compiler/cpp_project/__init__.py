"""A CMake project that runs a model of a package from C++."""

DOORS = {
    "cmake_build": "Building one program of a project in C++ with CMake, as its README says.",
    "contract_header": "A package's contract as C++ data, the values of templates.",
    "project": "Writing a small CMake project that runs one model of a package from C++.",
}
"""What other rooms import of this one."""

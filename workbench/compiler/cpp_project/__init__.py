"""A CMake project that runs a model of a package from C++."""

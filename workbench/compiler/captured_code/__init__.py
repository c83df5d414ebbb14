"""What is compiled in besides the inputs: values of globals and attributes, inlined code."""

DOORS = {
    "specialized_values": "Finds the values that the code was specialized for.",
    "inlined_code": "Checks whether inlined functions have changed.",
    "code_digest": "Computes digests of code objects and of their source files.",
}

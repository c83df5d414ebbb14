"""What is compiled in besides the inputs: values of globals and attributes, inlined code."""

DOORS = {
    "specialized_values": "Specialized values, and where to find them.",
    "inlined_code": "Inlined functions, and whether they have changed.",
    "code_digest": "Digests of code objects and of the files they come from.",
}

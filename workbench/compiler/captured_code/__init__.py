"""What is compiled in besides the inputs: values of globals and attributes, inlined code."""

DOORS = {
    "specialized_values": "Values that the code fixed, and how they are found again.",
    "inlined_code": "Functions that were inlined, and whether they are the same now.",
    "code_digest": "Digests of code objects and of the files they come from.",
}

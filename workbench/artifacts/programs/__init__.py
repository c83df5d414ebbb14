"""Programs that Inductor generated, in Python and in C++, read as one sequence of events."""

DOORS = {
    "events": "What a statement of a generated program does, with its line.",
    "generated_program": "The text of a program as events, as functions, as kernels.",
    "size_text": "Sizes and lists of arguments as programs write them.",
}
"""What other rooms import of this one."""

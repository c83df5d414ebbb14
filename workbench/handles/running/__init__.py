"""What runs a compilation on inputs: compared with the original, measured kernel by kernel."""

DOORS = {
    "profile": "Measures every kernel of the unchanged generated code.",
    "progress_line": "The progress of a call in one line, if somebody watches.",
    "verify": "Compares every effect of a compiled call with eager.",
}
"""What other rooms import of this one."""

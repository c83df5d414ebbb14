"""What runs a compilation on inputs: compared with the original, measured kernel by kernel."""

DOORS = {
    "profile": "Measures every kernel of the unchanged generated code.",
    "progress_line": "How far a call is, in one line, where somebody watches.",
    "verify": "Compares every effect of a compiled call with eager.",
}
"""What other rooms import of this one."""

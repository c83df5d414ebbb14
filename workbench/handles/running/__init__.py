"""What runs a compilation on inputs: compared with the original, measured kernel by kernel."""

DOORS = {
    "profile": "Measures every kernel of the unchanged generated code.",
    "progress_line": "How far a call is, in one line, where somebody watches.",
    "verify": "Compares what was compiled with the original, every effect of a call.",
}
"""What other rooms import of this one."""

"""What runs a compilation on inputs: compared with the original, measured kernel by kernel."""

DOORS = {
    "profile": "Measures every kernel of the unchanged generated code.",
    "progress_line": "Shows the progress of a call in one line in terminals and interactive "
    "notebooks.",
    "verify": "Compares every effect of a compiled call with eager.",
}
"""What other rooms import of this one."""

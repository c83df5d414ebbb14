"""What runs a compilation on inputs: compared with the original, measured kernel by kernel."""

DOORS = {
    "profile": "Measures every kernel of the unchanged generated code.",
    "verify": "Compares what was compiled with the original, every effect of a call.",
}
"""What other rooms import of this one."""

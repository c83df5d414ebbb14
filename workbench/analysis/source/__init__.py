"""What became of each source line, and why its code was compiled again or may raise."""

DOORS = {
    "caught_errors": "Finds operators that may raise exceptions that only eager code catches.",
    "lines": "The kernels that provably belong to each source line, and the calls between lines.",
    "recompile_reasons": "Parses torch's reasons for recompiling.",
}
"""What other rooms import of this one."""

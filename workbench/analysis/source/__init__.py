"""What became of each source line, and why its code was compiled again or may raise."""

DOORS = {
    "caught_errors": "Operators that may raise where only eager code catches it.",
    "lines": "What became of each source line as far as is proven, and which lines call which.",
    "recompile_reasons": "Torch's reasons for compiling again, read.",
}
"""What other rooms import of this one."""

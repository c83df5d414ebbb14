"""What became of each source line, and why its code was compiled again or may raise."""

DOORS = {
    "caught_errors": "Operators whose exceptions only eager code catches.",
    "lines": "The kernels of each source line as far as is proven, and which lines call which.",
    "recompile_reasons": "Torch's reasons for recompiling, parsed.",
}
"""What other rooms import of this one."""

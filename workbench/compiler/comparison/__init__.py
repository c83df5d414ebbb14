"""What two runs of a call gave, compared leaf by leaf."""

DOORS = {
    "double_precision": "The original once more in float64: what eager rounds.",
    "effects": "Everything that a call gives and changes, in pairs of two runs.",
    "output_comparison": "Verdicts on pairs of leaves.",
}
"""What other rooms import of this one."""

"""What two runs of a call gave, compared leaf by leaf."""

DOORS = {
    "effects": "Everything that a call gives and changes, in pairs of two runs.",
    "output_comparison": "Verdicts on pairs of leaves.",
    "second_opinion": "The original once more in float64: rounding, or more than that.",
}
"""What other rooms import of this one."""

"""What two runs of a call gave, compared leaf by leaf."""

DOORS = {
    "trial": "Runs a call in two ways, and compares the results and side effects.",
    "judgement": "Compares leaves by tolerance; where that fails, with eager in float64.",
    "output_comparison": "The outcome of a comparison, as plain data.",
}
"""What other rooms import of this one."""

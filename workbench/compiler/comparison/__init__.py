"""What two runs of a call gave, compared leaf by leaf."""

DOORS = {
    "trial": "Runs a call in two ways, and compares results and effects.",
    "judgement": "Pairs of leaves, compared by tolerance, then with eager in float64.",
    "output_comparison": "What was compared, as plain data.",
}
"""What other rooms import of this one."""

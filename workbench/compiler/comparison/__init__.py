"""What two runs of a call gave, compared leaf by leaf."""

DOORS = {
    "trial": "A call run two ways, with all that it gives and changes, and compared.",
    "judgement": "Pairs of leaves, compared by tolerance, then with eager in float64.",
    "output_comparison": "What was compared, as plain data.",
}
"""What other rooms import of this one."""

"""What two runs of a call gave, compared leaf by leaf."""

DOORS = {
    "trial": "A call run two ways, with all that it gives and changes, and compared.",
    "judgement": "Pairs of leaves, judged: by tolerance, then by the original in float64.",
    "output_comparison": "What was compared, as plain data.",
}
"""What other rooms import of this one."""

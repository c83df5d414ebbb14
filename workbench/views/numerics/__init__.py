"""What was found of the numbers of a call, as a chart."""

DOORS = {
    "numerics_view": "The view of a compilation with its numbers open.",
    "numerics_chart": "What each stage departs by itself, beside eager and the noise.",
}
"""What other rooms import of this one."""

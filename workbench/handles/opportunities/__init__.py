"""What to change in a compilation, and trying it."""

DOORS = {
    "opportunities": "Lists possible changes, biggest saving first, each with a trial.",
    "opportunity_trial": "Tries a change: compiles, compares and measures a copy.",
}
"""What other rooms import of this one."""

"""What to change in a compilation, and trying it."""

DOORS = {
    "opportunities": "Possible changes, the biggest saving first, each with a trial.",
    "opportunity_trial": "Tries a change on a copy: compiled, compared, measured.",
}
"""What other rooms import of this one."""

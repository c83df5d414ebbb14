"""What the magics of the core and of worlds need: their lines, options, errors, live displays."""

DOORS = {
    "call": "Parses the call or path passed to a magic.",
    "option_magics": "The base class of magics, and their options.",
    "progress_display": "The display of a running cell.",
}
"""What other rooms import of this one."""

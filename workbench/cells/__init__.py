"""What the magics of the core and of worlds need: their lines, options, errors, live displays."""

DOORS = {
    "call": "Reads the call or path of a magic.",
    "option_magics": "Options of magics, and the base class of magics.",
    "progress_display": "The display of a running cell.",
}
"""What other rooms import of this one."""

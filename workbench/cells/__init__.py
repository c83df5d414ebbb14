"""What the magics of the core and of worlds need: their lines, options, errors, live displays."""

DOORS = {
    "call": "The call or the path that stands on a magic's line or in its cell.",
    "option_magics": "Options of magics, and the class that magics derive from.",
    "progress_display": "What a cell shows while it runs.",
}
"""What other rooms import of this one."""

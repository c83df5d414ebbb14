"""What every compiled call is, whoever made it: a report, a check before each call."""

DOORS = {
    "checked_call": "Compiled code, called like eager and checked on every call.",
    "compared_call": "One call of compiled code, compared with the user's program.",
    "compiled_base": "The base of compiled functions for every target.",
}
"""What other rooms import of this one."""

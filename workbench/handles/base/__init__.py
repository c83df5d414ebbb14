"""What every compiled call is, whoever made it: a report, a check before each call."""

DOORS = {
    "checked_call": "Compiled code that is called like eager code and checks every call.",
    "compared_call": "Compares one call of compiled code with the user's program.",
    "compiled_base": "The base class of compiled functions for every target.",
}
"""What other rooms import of this one."""

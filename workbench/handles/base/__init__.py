"""What every compiled call is, whoever made it: a report, a check before each call."""

DOORS = {
    "checked_call": "Compiled code, called like eager and checked on every call.",
    "compared_call": "One call of compiled code, compared with the user's program.",
    "compiled_base": "What compiled functions of every target share.",
}
"""What other rooms import of this one."""

"""What every compiled call is, whoever made it: a report, a check before each call."""

DOORS = {
    "checked_call": "Compiled code that is called like the original, checked on every call.",
    "compared_call": "A call of compiled code beside the user's program.",
    "compiled_base": "What compiled functions of every target share.",
}
"""What other rooms import of this one."""

"""Where the cost of a call goes: down the user's calls, and down the modules of the model."""

DOORS = {
    "call_tree": "The user's lines with their callees; library code is folded, identical layers "
    "are merged.",
}
"""What other rooms import of this one."""

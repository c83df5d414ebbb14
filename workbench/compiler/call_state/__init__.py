"""What a call is given, gives, reaches and changes, noted and put back."""

DOORS = {
    "call_leaves": "What a call is given and gives: inputs once more, leaves, forms.",
    "random_states": "The random states of torch, Python and numpy.",
    "reachable": "What a callable can write to besides its inputs.",
}
"""What other rooms import of this one."""

"""What a call is given, gives, reaches and changes, noted and put back."""

DOORS = {
    "call_leaves": "Inputs and results of a call: copies, leaves, forms.",
    "random_states": "The random states of torch, Python and numpy.",
    "reachable": "Objects that a callable can write to besides its inputs.",
}
"""What other rooms import of this one."""

"""What a call is given, gives, reaches and changes, noted and put back."""

DOORS = {
    "call_leaves": "Copies the inputs and results of a call, and lists their leaves.",
    "random_states": "Saves and restores the random states of torch, Python and NumPy.",
    "reachable": "Finds the objects other than its inputs that a callable can write to.",
}
"""What other rooms import of this one."""

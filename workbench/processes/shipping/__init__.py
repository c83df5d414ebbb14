"""What goes to another process: functions, tensors, what code finds around it."""

DOORS = {
    "anew": "A pickler for objects that another process creates for itself, such as locks.",
    "caller_context": "Reproduces the caller's import path, working folder and notebook cells.",
    "shipped_values": "Packs a call for another process, with code by value and tensors.",
}
"""What other rooms import of this one."""

"""What goes to another process: functions, tensors, what code finds around it."""

DOORS = {
    "anew": "A pickler for what another process can have of its own, and whose a module is.",
    "caller_context": "Where code imports from, its folder, lines of no file, its cells.",
    "shipped_values": "What a call needs, packed: code by value, tensors with data or without.",
}
"""What other rooms import of this one."""

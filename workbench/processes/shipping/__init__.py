"""What goes to another process: functions, tensors, what code finds around it."""

DOORS = {
    "anew": "A pickler for what another process can have of its own, and whose a module is.",
    "caller_context": "Where code imports from, its folder, lines of no file, its cells.",
    "sent_modules": "What an import finds where classes and functions were sent.",
    "shipped_meshes": "How a process group and a mesh get to another process.",
    "shipped_tensors": "Tensors with their data in shared memory, or as fakes on a GPU.",
    "shipped_values": "What a call needs, packed: code by value, and made anew elsewhere.",
}
"""What other rooms import of this one."""

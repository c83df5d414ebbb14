"""Child processes: how they are started, asked and ended."""

DOORS = {
    "child": "A process that runs a program of this package and ends with this one.",
    "parent": "The child's side of the connection, and the messages of both sides.",
    "worker": "A child process that handles one request after another.",
}
"""What other rooms import of this one."""

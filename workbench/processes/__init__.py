"""Child processes: how they are started, asked and ended."""

DOORS = {
    "child": "A process that runs a program of this package and ends with this one.",
    "parent": "The child's side, and what both sides say.",
    "worker": "A child that answers one request after the other.",
}
"""What other rooms import of this one."""

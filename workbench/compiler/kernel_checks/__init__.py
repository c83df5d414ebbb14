"""Checks hand-written kernels: runs calls of them under watch and compares what they compute."""

DOORS = {
    "kernel_checking": "Checks one kernel in the calls that were asked for.",
}
"""What other rooms import of this one."""

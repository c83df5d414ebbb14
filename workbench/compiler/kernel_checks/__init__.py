"""Checks hand-written kernels: runs calls of them under watch and compares what they compute."""

DOORS = {
    "kernel_checking": "Checks one kernel in the calls that were asked for.",
    "program_checks": "Checks the Triton kernels of a compiled program in one call of it.",
}
"""What other rooms import of this one."""

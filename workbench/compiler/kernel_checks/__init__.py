"""Checks hand-written kernels: runs calls of them under watch and compares what they compute."""

DOORS = {
    "kernel_checking": "Checks one kernel in the requested calls.",
    "program_checks": "Checks the Triton kernels of a compiled program during one call.",
}
"""What other rooms import of this one."""

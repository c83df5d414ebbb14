"""Runs programs that were generated for a GPU on the CPU, to compare what they compute."""

DOORS = {
    "reference": "Runs captured graphs on the CPU, node by node.",
    "stage_checks": "Finds the compilation stage that caused a difference on this machine.",
    "verification": "Runs a program for a GPU on the CPU and compares it with eager.",
}
"""What other rooms import of this one."""

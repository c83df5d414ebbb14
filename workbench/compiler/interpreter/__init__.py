"""Runs programs that were generated for a GPU on the CPU, to compare what they compute."""

DOORS = {
    "reference": "Runs captured graphs on the CPU, node by node.",
    "stage_checks": "Which compilation stage on this machine caused a difference.",
    "verification": "Runs a program for a GPU on the CPU and compares it with eager.",
}
"""What other rooms import of this one."""

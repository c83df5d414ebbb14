"""What was found in hand-written kernels that were run under watch."""

DOORS = {
    "kernel_check": "The result of a check: in a sentence, as rows, and in a report.",
}
"""What other rooms import of this one."""

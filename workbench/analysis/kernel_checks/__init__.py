"""What was found in hand-written kernels that were run under watch."""

DOORS = {
    "kernel_check": "The answer of a check: in a sentence, as rows, and kept in a report.",
}
"""What other rooms import of this one."""

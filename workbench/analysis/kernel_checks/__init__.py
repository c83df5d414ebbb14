"""The findings of instrumented runs of hand-written kernels."""

DOORS = {
    "kernel_check": "The result of a check: in a sentence, as rows, and in a report.",
}
"""What other rooms import of this one."""

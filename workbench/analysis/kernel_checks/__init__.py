"""The findings of instrumented runs of hand-written kernels."""

DOORS = {
    "kernel_check": "The result of a check as a sentence, as rows and as a report.",
}
"""What other rooms import of this one."""

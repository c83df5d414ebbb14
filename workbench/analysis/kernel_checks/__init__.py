"""The findings of instrumented runs of hand-written kernels."""

DOORS = {
    "kernel_check": "The result of a kernel check, as a sentence, rows and a report.",
}
"""What other rooms import of this one."""

"""Configurations of hand-written kernels for a GPU that is not here: tried, ranked, written."""

DOORS = {
    "candidate": "One configuration with its verdict, and why one is before another.",
    "spaces": "Which configurations are tried.",
    "tuned": "What a kernel was tuned to for GPUs and sizes, and the files that others read.",
}
"""What other rooms import of this one."""

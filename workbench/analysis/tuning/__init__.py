"""Configurations of hand-written kernels for a GPU that is not here: tried, ranked, written."""

DOORS = {
    "candidate": "One configuration with its verdict, and why one is ahead of another.",
    "spaces": "Which configurations are tried.",
    "tuned": "The result of tuning for GPUs and sizes, and config files for other tools.",
}
"""What other rooms import of this one."""

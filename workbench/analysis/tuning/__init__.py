"""Configurations of hand-written kernels for a GPU that is not here: tried, ranked, written."""

DOORS = {
    "candidate": "One configuration with its verdict, and why it ranks ahead of another.",
    "spaces": "The configurations to try.",
    "tuned": "The result of tuning for GPUs and sizes, and config files for other tools.",
}
"""What other rooms import of this one."""

"""Logs that torch wrote under `TORCH_TRACE`, read without torch."""

DOORS = {
    "log_report": "A `TORCH_TRACE` log, or a folder of them, as a report.",
}
"""What other rooms import of this one."""

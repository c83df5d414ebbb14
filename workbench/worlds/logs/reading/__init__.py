"""Logs that torch wrote under `TORCH_TRACE`, or tritonparse, read without torch or Triton."""

DOORS = {
    "kernel_log": "A tritonparse log, or a folder of them, as a report.",
    "logged_ranks": "The ranks of one run, compared by their logs.",
    "log_report": "A `TORCH_TRACE` log, or a folder of them, as a report.",
}
"""What other rooms import of this one."""

"""Logs that torch wrote under `TORCH_TRACE`, or tritonparse, read without torch or Triton."""

DOORS = {
    "kernel_log": "Reads a tritonparse log, or a folder of them, as a report.",
    "logged_ranks": "Compares the ranks of one run by their logs.",
    "log_report": "Reads a `TORCH_TRACE` log, or a folder of them, as a report.",
}
"""What other rooms import of this one."""

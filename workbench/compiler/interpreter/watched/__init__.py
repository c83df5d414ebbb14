"""Kernels run under watch: what they reach outside their arguments, races, every access."""

DOORS = {
    "watched_call": "A request to check one kernel call, and its result with the access log.",
    "watched_run": "Runs a kernel in the interpreter and records its bugs.",
}
"""What other rooms import of this one."""

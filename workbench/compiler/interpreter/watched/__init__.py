"""Kernels run under watch: what they reach outside their arguments, races, every access."""

DOORS = {
    "watched_call": "A question about one call and its answer, with its access log.",
    "watched_run": "Runs a kernel in the interpreter and notes what is wrong.",
}
"""What other rooms import of this one."""

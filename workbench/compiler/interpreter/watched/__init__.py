"""Kernels run under watch: what they reach outside their arguments, races, every access."""

DOORS = {
    "watched_call": "What is asked about one call, and what is answered, with its access log.",
    "watched_run": "Runs a kernel in the interpreter and notes what is wrong.",
}
"""What other rooms import of this one."""

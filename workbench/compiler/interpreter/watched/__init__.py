"""Kernels run under watch: what they reach outside their arguments, races, every access."""

DOORS = {
    "access_log": "Every access of a run: which program and lane reached which bytes, in which line.",
    "watched_call": "What is asked of the interpreter about one call, and what it answers.",
    "watched_run": "Runs a kernel in the interpreter and notes what is wrong.",
}
"""What other rooms import of this one."""

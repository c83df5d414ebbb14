"""The record of a running program: its compiles, recompiles, breaks, calls and steps."""

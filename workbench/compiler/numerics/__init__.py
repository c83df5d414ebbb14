"""Where a compiled program departs from eager: each part by its own inputs, three times."""

DOORS = {
    "host_microscope": "Looks at one call of a program of this machine.",
    "isolated_kernels": "One kernel by itself: its nodes, its inputs, a script.",
}
"""What other rooms import of this one."""

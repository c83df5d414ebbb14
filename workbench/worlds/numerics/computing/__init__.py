"""Where a compiled program departs from eager: each part by its own inputs, three times."""

DOORS = {
    "isolated_kernels": "One kernel by itself: its nodes, its inputs, a script.",
    "microscope": "Looks at one call of a program, of this machine or for a virtual GPU.",
}
"""What other rooms import of this one."""

"""Where a compiled program departs from eager: each part by its own inputs, three times."""

DOORS = {
    "isolated_kernels": "An isolated kernel with its nodes, inputs and a script.",
    "microscope": "Checks one call of a program, for this machine or a virtual GPU.",
}
"""What other rooms import of this one."""

"""The configurations of one Triton kernel: which there are."""

DOORS = {
    "config_space": "Which configurations of a kernel there are.",
    "triton_source": "What a compiler needs of a generated Triton source.",
}
"""What other rooms import of this one."""

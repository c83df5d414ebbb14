"""The configurations of one Triton kernel: which there are, and which a model puts first."""

DOORS = {
    "config_model": "Configurations in the order of a model, with what is against one.",
    "config_space": "Which configurations of a kernel there are.",
    "triton_source": "What a compiler needs of a generated Triton source.",
}
"""What other rooms import of this one."""

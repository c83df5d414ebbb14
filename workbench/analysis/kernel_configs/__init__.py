"""The configurations of one Triton kernel: which there are."""

DOORS = {
    "config_space": "The configurations of a kernel.",
    "triton_source": "The parts of a generated Triton source that a compiler needs.",
}
"""What other rooms import of this one."""

"""Kernels compiled in other ways: for other GPUs, in other configurations."""

DOORS = {
    "compare_targets": "Compiles every Triton kernel for several GPUs.",
    "config_search": "Checks and ranks compiled configurations.",
    "ranked": "Compiles configurations of one kernel and ranks them by modelled time.",
}
"""What other rooms import of this one."""

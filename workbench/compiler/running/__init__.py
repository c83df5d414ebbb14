"""Packages in this process: opened, checked, driven through the C interface, swapped."""

DOORS = {
    "loaded": "One model of a package, ready to be called.",
    "model_files": "Copies the files of a model out of its package; does not need torch.",
    "several_models": "A callable that chooses among several sizes or variants of one model.",
}
"""What other rooms import of this one."""

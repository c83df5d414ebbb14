"""Packages in this process: opened, checked, driven through the C interface, swapped."""

DOORS = {
    "loaded": "One model of a package, ready to be called.",
    "model_files": "The files of a model in its package, copied out; needs no torch.",
    "several_models": "Several sizes or variants of one model behind one callable.",
}
"""What other rooms import of this one."""

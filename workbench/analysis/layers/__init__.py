"""Memory by layer: what equal layers hold, and whether a model with more of them fits."""

DOORS = {
    "fit": "Whether a call with so many layers fits into a GPU.",
    "layers": "Memory of modules at the peak, with identical layers as one.",
    "optimizers": "The state of an optimizer.",
}
"""What other rooms import of this one."""

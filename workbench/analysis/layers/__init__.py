"""Memory by layer: what equal layers hold, and whether a model with more of them fits."""

DOORS = {
    "fit": "Estimates whether a call with a given number of layers fits into a GPU.",
    "layers": "The memory of each module at the peak, with identical layers merged.",
    "optimizers": "The bytes of an optimizer's state.",
}
"""What other rooms import of this one."""

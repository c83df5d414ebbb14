"""Memory by layer: what equal layers hold, and whether a model with more of them fits."""

DOORS = {
    "fit": "Whether a call of so many layers fits into a GPU.",
    "layers": "What modules hold at the peak, with equal layers as one.",
    "optimizers": "What an optimizer keeps for the weights.",
}
"""What other rooms import of this one."""

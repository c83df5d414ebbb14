"""Times of kernels by a model whose parameters were fitted to traces of real GPUs."""

DOORS = {
    "modelled": "The time of a kernel with its measured error, and what it rests on.",
}
"""What other rooms import of this one."""

"""How a packaged model is called: its parameters, the check of its inputs, its padded sizes."""

DOORS = {
    "bucket_sizes": "Pads requests of any size to a compiled size, and cuts the results.",
    "call_check": "The input contract of a model, and a function that checks calls against it.",
    "signature": "Flattens arguments to leaves, and rebuilds the result from a library's outputs.",
}
"""What other rooms import of this one."""

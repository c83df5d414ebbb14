"""How a packaged model is called: its parameters, the check of its inputs, its padded sizes."""

DOORS = {
    "bucket_sizes": "Requests of any size in models of a few sizes: padded, then cut.",
    "call_check": "The input contract of a model, and the function that checks a call.",
    "signature": "Converts arguments to leaves, and a library's outputs to the result.",
}
"""What other rooms import of this one."""

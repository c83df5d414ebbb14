"""Where a value lies among the inputs of a call, and functions made for its signature."""

DOORS = {
    "paths": "A place inside nested inputs, as people write it.",
    "call_path": "Functions generated for a signature: they bind, check and call.",
}

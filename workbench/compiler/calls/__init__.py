"""Where a value lies among the inputs of a call, functions made for its signature, its hash."""

DOORS = {
    "paths": "A place inside nested inputs, as people write it.",
    "call_path": "Functions generated for a signature: they bind, check and call.",
    "content_key": "A function and its inputs as a hash, the same in another process.",
}

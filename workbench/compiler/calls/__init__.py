"""Where a value lies among the inputs of a call, functions made for its signature, its hash."""

DOORS = {
    "paths": "A path inside nested inputs, in readable form.",
    "call_path": "Functions generated for a signature: they bind, check and call.",
    "content_key": "A function and its inputs as a hash, the same in another process.",
}

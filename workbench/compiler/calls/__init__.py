"""Where a value lies among the inputs of a call, functions made for its signature, its hash."""

DOORS = {
    "paths": "Paths to values inside nested inputs, in readable form.",
    "call_path": "Generates functions that bind and check arguments and make the call.",
    "content_key": "A hash of a function and its inputs that is the same in every process.",
}

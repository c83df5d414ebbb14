"""What a call has to be like: the inputs one by one, memory that they share, examples of them."""

DOORS = {
    "contract": "Every leaf of the inputs, its fast check, and messages for mismatches.",
    "shared_memory": "Which inputs may share memory.",
    "examples": "Inputs made from a contract or a description.",
}

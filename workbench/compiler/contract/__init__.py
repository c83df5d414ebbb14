"""What a call has to be like: the inputs one by one, memory that they share, examples of them."""

DOORS = {
    "contract": "Every leaf of the inputs, and what a call that does not fit is told.",
    "fast_check": "The fast check of a call, and how its tensors lie in memory.",
    "shared_memory": "Which inputs may lie in the same memory.",
    "examples": "Inputs made from a contract or a description.",
}

"""What a call has to be like: the inputs one by one, memory that they share, examples of them."""

DOORS = {
    "contract": "The expected inputs, a fast check of a call, and messages for mismatches.",
    "shared_memory": "Checks which inputs share memory.",
    "examples": "Creates inputs from a contract or a description.",
}

"""What is compiled, and what is asked of the compilation, checked before anything runs."""

DOORS = {
    "compile_request": "The call to compile: its example inputs, options and fusion choices.",
    "callables": "Finds the function that Dynamo traces for a callable, and binds its inputs.",
    "composition": "Merges the options with those of an enclosing torch.compile.",
}

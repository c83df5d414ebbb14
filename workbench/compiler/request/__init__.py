"""What is compiled, and what is asked of the compilation, checked before anything runs."""

DOORS = {
    "compile_request": "The call, its example inputs, the options, a choice of fusion.",
    "callables": "The given callable as the function that Dynamo traces, its inputs bound.",
    "composition": "The options, with those of an enclosing torch.compile.",
}

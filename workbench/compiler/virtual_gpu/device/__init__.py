"""The GPU that torch and Triton see while a virtual one is there."""

DOORS = {
    "native_hooks": "The C++ hooks that make autograd work for a virtual GPU.",
    "template_model": "A model that ranks the templates of a matmul or convolution.",
    "virtual": "A virtual GPU that torch's and Triton's real compilers compile for.",
}
"""What other rooms import of this one."""

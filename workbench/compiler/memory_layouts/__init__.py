"""What Triton's compiler says of a kernel's memory: who holds which element, how it is moved."""

DOORS = {
    "laid_tensors": "The tensors of a kernel with their layouts, from its TTGIR.",
}
"""What other rooms import of this one."""

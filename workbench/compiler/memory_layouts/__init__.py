"""What Triton's compiler says of a kernel's memory: who holds which element, how it is moved."""

DOORS = {
    "laid_tensors": "The tensors of a kernel with their layouts, read of its TTGIR.",
    "instruction_widths": "How many bytes one thread moves with one instruction, by line.",
}
"""What other rooms import of this one."""

"""What a machine has, and what libraries need of it."""

DOORS = {
    "elf": "What a shared library needs, gives and lacks.",
    "elf_stack": "Takes from a library the stack that newer systems refuse.",
    "machine_description": "A machine as far as artifacts care, and what they require of one.",
}
"""What other rooms import of this one."""

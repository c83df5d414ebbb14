"""What a machine has, and what libraries need of it."""

DOORS = {
    "elf": "Needs, exports and gaps of a shared library.",
    "elf_loading": "Makes a compiled library one that can be loaded, or says why it is none.",
    "machine_description": "A machine as far as artifacts care, and what they require of one.",
}
"""What other rooms import of this one."""

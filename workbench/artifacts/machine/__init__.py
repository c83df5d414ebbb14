"""What a machine has, and what libraries need of it."""

DOORS = {
    "elf": "The dependencies and the exported and unresolved symbols of a shared library.",
    "elf_loading": "Makes a compiled library loadable, or explains why it cannot be loaded.",
    "machine_description": "Describes the machine properties that artifacts depend on, and "
    "checks requirements.",
}
"""What other rooms import of this one."""

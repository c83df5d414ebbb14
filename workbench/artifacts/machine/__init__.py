"""What a machine has, and what libraries need of it."""

DOORS = {
    "elf": "The dependencies, exported and unresolved symbols of a shared library.",
    "elf_loading": "Makes a compiled library loadable, or gives the reason why not.",
    "machine_description": "The machine facts that artifacts depend on, and their requirements.",
}
"""What other rooms import of this one."""

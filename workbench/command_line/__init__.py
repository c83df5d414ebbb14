"""The command `workbench`: records, files and programs without a notebook."""

DOORS = {
    "main": "The command `workbench` and its words; each command is imported when it runs.",
}
"""What other rooms import of this one."""

FINE, FINDING, WRONG_USE = 0, 1, 2
"""Its exit codes."""

"""The command `workbench`: records, files and programs without a notebook."""

DOORS = {
    "main": "Runs the `workbench` command line; each command is imported when it runs.",
}
"""What other rooms import of this one."""

WITH_JSON = ("report", "diff", "check", "inspect", "explain")
PLAIN = ("words", "schema")
"""Its commands, beside those of worlds."""
FINE, FINDING, WRONG_USE = 0, 1, 2
"""Its exit codes."""

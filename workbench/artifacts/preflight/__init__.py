"""What a file needs, compared with a machine."""

DOORS = {
    "check": "Checks whether a file of any kind can be loaded on a machine.",
    "package_preflight": "Checks whether a package fits a machine, and which of its variants do.",
    "preflight": "Checks whether an artifact fits a machine, and what compiled libraries need.",
}
"""What other rooms import of this one."""

"""What a file needs, compared with a machine."""

DOORS = {
    "check": "Whether a file of any kind can be loaded on a machine.",
    "package_preflight": "Whether a package fits a machine, and which of its variants.",
    "preflight": "Whether an artifact fits a machine, and what built libraries need.",
}
"""What other rooms import of this one."""

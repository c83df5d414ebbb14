"""The process groups of this process, real or fake, here and in a worker."""

DOORS = {
    "cluster": "Reproduces the rank and process groups of this process in another one.",
}
"""What other rooms import of this one."""

"""The process groups of this process, real or fake, here and in a worker."""

DOORS = {
    "cluster": "The rank and groups of this process, reproduced in another process.",
}
"""What other rooms import of this one."""

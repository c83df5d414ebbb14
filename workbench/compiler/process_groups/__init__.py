"""The process groups of this process, real or fake, here and in a worker."""

DOORS = {
    "cluster": "The rank of this process and its groups, and being that rank elsewhere.",
}
"""What other rooms import of this one."""

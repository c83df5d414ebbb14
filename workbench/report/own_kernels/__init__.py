"""What a record keeps of kernels that a user wrote."""

DOORS = {
    "kernel_check_rows": "What was found in kernels that were run under watch.",
}
"""What other rooms import of this one."""

"""How long products of matrices take in each configuration, by the code that a compiler made."""

DOORS = {
    "user_product": "A hand-written matmul: its modelled time, and its best configs on other GPUs.",
}
"""What other rooms import of this one."""

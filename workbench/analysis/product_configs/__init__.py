"""How long products of matrices take in each configuration, by the code that a compiler made."""

DOORS = {
    "inner_loop": "The loop of matrix instructions in machine code.",
    "user_product": "A product that the user wrote: its modelled time, what won elsewhere.",
}
"""What other rooms import of this one."""

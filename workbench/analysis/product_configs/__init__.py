"""How long products of matrices take in each configuration, by the code that a compiler made."""

DOORS = {
    "user_product": "A product that the user wrote: its modelled time, what won elsewhere.",
}
"""What other rooms import of this one."""

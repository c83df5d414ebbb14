"""Why two lines, nodes or kernels are not computed together."""

DOORS = {
    "apart": "Why two things are apart, in a sentence that says what is known.",
}
"""What other rooms import of this one."""

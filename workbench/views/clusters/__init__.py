"""What is shown of a program on clusters of several sizes."""

DOORS = {
    "scaling_answer": "A step on meshes of several sizes, as text, a page and a chart.",
}
"""What other rooms import of this one."""

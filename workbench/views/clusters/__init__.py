"""What clusters show: their ranks, meshes of several sizes."""

DOORS = {
    "rank_answers": "Ranks compiled here, or read of logs, as text, fragment and page.",
    "scaling_answer": "A step on meshes of several sizes, as text, a page and a chart.",
}
"""What other rooms import of this one."""

"""What clusters show: their ranks, meshes of several sizes, and what runs at a time."""

DOORS = {
    "rank_answers": "Shows compiled ranks as text and blocks.",
    "scaling_answer": "Shows a step on meshes of several sizes as text, a page and a chart.",
    "streams_pane": "The Streams pane of a report.",
}
"""What other rooms import of this one."""

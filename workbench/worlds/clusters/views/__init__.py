"""What clusters show: their ranks, meshes of several sizes, and what runs at a time."""

DOORS = {
    "rank_answers": "Ranks compiled here, as text and blocks.",
    "scaling_answer": "A step on meshes of several sizes, as text, a page and a chart.",
    "streams_pane": "The pane Streams of a report.",
}
"""What other rooms import of this one."""

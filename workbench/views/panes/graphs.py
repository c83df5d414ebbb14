"""The graphs pane: the text of every stage."""

from __future__ import annotations

from workbench.report import Graph, Report
from workbench.views.blocks import Block, Code, Note, Pane
from workbench.views.limits import Limits
from workbench.views.panes.missing import missing, omitted
from workbench.views.place_words import text_of
from workbench.views.units import plural

STAGE_NAMES = {
    "dynamo": "Captured graph",
    "before_pre_grad": "Before pre-grad passes",
    "after_pre_grad": "After pre-grad passes",
    "joint": "Joint forward and backward",
    "before_joint_passes": "Before joint passes",
    "after_joint_passes": "After joint passes",
    "forward": "Forward",
    "backward": "Backward",
    "inference": "Inference",
    "before_post_grad": "Before post-grad passes",
    "after_post_grad": "After post-grad passes",
}


def pane(report: Report, limits: Limits) -> Pane:
    """Every graph in the order of the compiler; an unchanged text is named, not repeated."""
    blocks: list[Block] = []
    seen: dict[str, str] = {}
    left = 0
    for graph in report.graphs:
        title = stage_name(graph)
        text = text_of(report, graph.text)
        if text is not None and text in seen:
            blocks.append(Code(title, "", facts=(f"unchanged since “{seen[text]}”",)))
        elif text is not None and limits.text.take(text):
            seen[text] = title
            facts = (plural(graph.node_count, "node"), plural(text.count("\n") + 1, "line"))
            blocks.append(Code(title, text, "python", facts))
        else:
            left += 1
    if left:
        rest = plural(left, "more graph")
        blocks.append(Note(f"{rest}.", "Their texts are in report.frame('graphs')."))
    nothing = empty(report)
    if nothing is not None:
        blocks.append(nothing)
    return Pane("graphs", "Graphs", (*blocks, *omitted(report, "graphs")), len(report.graphs))


def empty(report: Report) -> Note | None:
    """Why there is no graph to show, or None."""
    if len(report.graphs):
        return None
    return missing(report, "graphs", "No graphs.", "No graph was captured.")


def stage_name(graph: Graph) -> str:
    """A stage in words; says which graph when it belongs to the backward pass."""
    name = STAGE_NAMES.get(graph.stage, graph.stage.replace("_", " "))
    return f"{name}, backward" if graph.is_backward and graph.stage != "backward" else name

"""The graphs of every stage and what was made from each."""

from __future__ import annotations

from collections import defaultdict

from workbench.report import Report
from workbench.report.column_filter import linked_pairs
from workbench.views import wire
from workbench.views.panes.graphs import stage_name


def graphs(report: Report) -> list[wire.GraphHead]:
    """Every graph, in the order in which the compiler made them."""
    following: dict[str, dict[str, None]] = defaultdict(dict)
    several = len({graph.compile_id for graph in report.graphs}) > 1
    first, second = ":", ":"
    for a, b in linked_pairs(report, "node-node"):
        if not (a.startswith(first) and b.startswith(second)):  # links of a stage stand together
            first, second = a[: a.index(":") + 1], b[: b.index(":") + 1]
            following[first[:-1]][second[:-1]] = None
    return [
        {
            "id": graph.id,
            "stage": graph.stage,
            "title": f"{graph.compile_id or '?'} · {stage_name(graph)}"
            if several
            else stage_name(graph),
            "compile_id": graph.compile_id,
            "node_count": graph.node_count,
            "is_backward": graph.is_backward,
            "part": f"graph:{graph.id}",
            "next": [id for id in following[graph.id] if id != graph.id],
        }
        for graph in report.graphs
    ]

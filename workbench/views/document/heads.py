"""The tabs: counts, problems, and why one is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.analysis.fusion.fusion import Rejected, Saving
from workbench.report import Report
from workbench.views import blocks, wire
from workbench.views.panes import (
    autotune,
    breaks,
    fusion,
    graphs,
    kernels,
    matrix,
    overview,
    roofline,
    timeline,
)

TITLES: Mapping[wire.PaneId, str] = {
    "overview": "Overview",
    "graphs": "Graphs",
    "breaks": "Breaks & guards",
    "fusion": "Fusion",
    "kernels": "Kernels",
    "timeline": "Timeline",
    "autotune": "Autotune",
    "roofline": "Roofline",
    "matrix": "Matrix",
    "artifact": "Artifact",
}
"""The panes in the order of the tabs, with what stands on them."""


def heads(
    report: Report, groups: Sequence[Saving], pairs: Sequence[Rejected]
) -> list[wire.PaneHead]:
    """The panes in the order of the tabs; the overview's reason is about its source only."""
    broken = len(report.breaks)
    return [
        _head("overview", None, None if _has_text(report) else overview.empty(report)),
        _head("graphs", len(report.graphs), graphs.empty(report)),
        _head(
            "breaks",
            broken,
            None if broken or len(report.guards) else breaks.empty(report),
            is_problem=broken > 0,
        ),
        _head("fusion", len(pairs), fusion.empty(report, groups, pairs)),
        _head("kernels", len(report.kernels), kernels.empty(report)),
        _head("timeline", None, timeline.empty(report)),
        _head("autotune", autotune.count(report), autotune.empty(report)),
        _head("roofline", None, roofline.empty(report)),
        _head("matrix", matrix.count(report), matrix.empty(report)),
        _head("artifact", None, None),
    ]


def _has_text(report: Report) -> bool:
    return any(text is not None for text in report.sources.columns.get("text", ()))


def _head(
    id: wire.PaneId,
    count: int | None,
    empty: blocks.Note | None,
    *,
    is_problem: bool = False,
) -> wire.PaneHead:
    note: wire.Note | None = None
    if empty is not None:
        note = {"title": empty.title, "text": empty.text, "tone": empty.tone}
    return {
        "id": id,
        "title": TITLES[id],
        "count": count,
        "is_problem": is_problem,
        "empty": note,
    }

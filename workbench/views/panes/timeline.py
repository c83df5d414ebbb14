"""The timeline: every phase of the compilation."""

from __future__ import annotations

from workbench.report import Report
from workbench.views.panes.missing import missing
from workbench.views.panes.pane import Content, Pane, Setting
from workbench.views.wire import document as wire


def document(report: Report, setting: Setting) -> Content:
    """The phases; the first one starts at 0 seconds."""
    empty = missing(report, "phases", "No timeline.", "No phase was recorded.")
    phases = _phases(report)
    return Content({"phases": phases}, empty=None if phases else empty)


def _phases(report: Report) -> list[wire.Phase]:
    start = min(report.phases.columns.get("start_s", ()), default=0.0)
    return [
        {
            "id": phase.id,
            "name": phase.name,
            "start_s": round(phase.start_s - start, 6),
            "duration_s": phase.duration_s,
            "self_s": phase.self_s,
            "depth": phase.depth,
            "thread": phase.thread,
        }
        for phase in report.phases
    ]


PANE = Pane("timeline", "Timeline", document)

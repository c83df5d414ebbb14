"""The timeline: every phase of the compilation."""

from __future__ import annotations

from workbench.report import Report
from workbench.views.panes.pane import Content, Pane, ViewContext, missing
from workbench.views.panes.passes import Passes
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import convert_row


def document(report: Report, context: ViewContext) -> Content:
    """The phases; the first one starts at 0 seconds."""
    empty = missing(report, "phases", "No timeline.", "No phase was recorded.")
    start = min(report.phases.columns.get("start_s", ()), default=0.0)
    side = Passes(report).phase
    phases = [
        convert_row(wire.Phase, phase, start_s=round(phase.start_s - start, 6), side=side(phase))
        for phase in report.phases
    ]
    return Content({"phases": phases}, empty=None if phases else empty)


PANE = Pane("timeline", "Timeline", document)

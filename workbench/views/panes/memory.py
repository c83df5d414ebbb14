"""Memory: what lives at each step. It is counted when the pane is opened, as the part `memory:`."""

from __future__ import annotations

from workbench.analysis.memory.timeline import why_unknown
from workbench.report import Report
from workbench.views.panes.pane import Content, Pane, ViewContext, missing


def document(report: Report, context: ViewContext) -> Content:
    """Nothing at rest, but why there is nothing to count where that is seen at once."""
    why = why_unknown(report)
    empty = None if why is None else missing(report, "wrappers", "No memory is known.", why)
    return Content({}, empty=empty)


PANE = Pane("memory", "Memory", document)

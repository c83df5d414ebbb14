"""The verdict, the six figures, what went wrong, what could not be captured."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.report import Report
from workbench.views import wire
from workbench.views.document.cuda_graphs import FIRST_PART
from workbench.views.panes import cuda_graphs, overview


def verdict(report: Report) -> tuple[str, wire.Tone]:
    """How the compilation ended: words, tone."""
    if not report.outcome.ok:
        return f"failed in {report.outcome.step or 'compilation'}", "break"
    if len(report.breaks):
        count = len(report.breaks)
        return f"{count} graph break{'s' * (count > 1)}", "break"
    return "compiled", "captured"


def figures(report: Report, saved: tuple[str, int] | None) -> list[wire.Figure]:
    """The six figures, each with the pane that it leads to."""
    return [
        {"label": item.label, "value": item.value, "note": item.note, "pane": item.pane}
        for item in overview.figures(report, saved)
    ]


def notes(report: Report, dropped: Sequence[str] = ()) -> list[wire.Note]:
    """What was taken out before sharing, the failure, what the compiler said of the request."""
    found: list[wire.Note] = []
    if dropped:
        text = f"{'; '.join(dropped)}."
        found.append({"title": "Dropped before sharing:", "text": text, "tone": "fallback"})
    if not report.outcome.ok:
        step = report.outcome.step or "the compilation"
        error = report.outcome.error or ""
        found.append({"title": f"Failed in {step}.", "text": error, "tone": "break"})
    for text in report.request.notes:
        found.append({"title": "Note.", "text": text, "tone": "plain"})
    for item in cuda_graphs.remark(report):
        found.append(
            {"title": item.title, "text": item.text, "tone": item.tone, "select": FIRST_PART}
        )
    return found


def missing_parts(report: Report) -> list[wire.Note]:
    """What could not be captured, and why."""
    found: list[wire.Note] = []
    for part in report.capabilities:
        if not part.available:
            reason = part.reason or "no reason recorded"
            title = part.name.replace("_", " ")
            found.append({"title": title, "text": reason, "tone": "fallback"})
    return found

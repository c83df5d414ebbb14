"""The message of a pane that has nothing to show: what is missing, why, what would change it."""

from __future__ import annotations

from workbench.report import Report
from workbench.views.blocks import Note


def missing(report: Report, part: str, title: str, otherwise: str) -> Note:
    """Why `part` is absent: the recorded reason, the failed step, or the sentence `otherwise`."""
    reason = report.why_missing(part)
    if reason is not None:
        return Note(title, _sentence(reason))
    if not report.outcome.ok:
        step = report.outcome.step or "an earlier step"
        return Note(title, f"The compilation failed in {step}, before this part was reached.")
    return Note(title, otherwise)


def omitted(report: Report, part: str) -> tuple[Note, ...]:
    """A message when rows were counted but not kept."""
    count = report.tables[part].omitted if part in report.tables else 0
    if not count:
        return ()
    return (Note("Not everything was kept.", f"{count} more rows were counted only."),)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")

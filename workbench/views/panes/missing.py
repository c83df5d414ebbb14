"""The message of a pane that has nothing to show: what is missing, why, what would change it."""

from __future__ import annotations

from workbench.report import Report
from workbench.views.wire.document import Note


def missing(report: Report, part: str, title: str, otherwise: str) -> Note:
    """Why `part` is absent: the recorded reason, the failed step, or the sentence `otherwise`."""
    reason = report.why_missing(part)
    text = otherwise
    if reason is not None:
        text = _sentence(reason)
    elif not report.outcome.ok:
        step = report.outcome.step or "an earlier step"
        text = f"The compilation failed in {step}, before this part was reached."
    return {"title": title, "text": text, "tone": "plain"}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")

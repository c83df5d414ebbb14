"""What a notebook shows for a report: text and HTML side by side."""

from __future__ import annotations

from typing import Any

from workbench.errors import UsageError
from workbench.report import Report
from workbench.views.html import fragment
from workbench.views.text import text


class Shown:
    """A report as an output of a notebook: HTML, and the text where HTML cannot be shown."""

    def __init__(self, report: Report):
        self.report = report

    def __repr__(self) -> str:
        """The stable text summary."""
        return text(self.report)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": text(self.report), "text/html": fragment(self.report)}


def show(x: Any) -> Shown:
    """What a report, or anything that carries one in `.report`, looks like.

    Raises
    ------
    UsageError
        When `x` is no report and carries none.
    """
    report = x if isinstance(x, Report) else getattr(x, "report", None)
    if not isinstance(report, Report):
        raise UsageError(
            f"Cannot show a {type(x).__name__}: it is no report and has none in .report. "
            "Pass what aot_compile, explain, load or inspect returned."
        )
    return Shown(report)

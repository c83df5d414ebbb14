"""What a notebook shows for a report: text and HTML side by side."""

from __future__ import annotations

from typing import Any

from workbench.analysis.kinds import kernel_marks
from workbench.errors import UsageError
from workbench.report import Report
from workbench.views.html import fragment
from workbench.views.panes.overview import annotate
from workbench.views.render.skin import SYMBOLS, Skin
from workbench.views.render.tables import heat, legend
from workbench.views.text import text
from workbench.views.units import bytes_text


class Shown:
    """A report as an output of a notebook: HTML, and the text where HTML cannot be shown."""

    def __init__(self, report: Report):
        self.report = report

    def __repr__(self) -> str:
        """The stable text summary."""
        return text(self.report)

    def annotated(self, file: str, text: str) -> Annotated:
        """The lines of one file or notebook cell, with what became of each."""
        return Annotated(self.report, file, text)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": text(self.report), "text/html": fragment(self.report)}


class Annotated:
    """A source text with what became of its lines."""

    def __init__(self, report: Report, file: str, text: str):
        self.heat = annotate(report, file, text)
        self._skin = Skin(is_page=False, marks=kernel_marks(report))

    def __repr__(self) -> str:
        """The lines with a sign, the kernels they end in, the bytes those move for them."""
        rows = []
        for line in self.heat.lines:
            sign = SYMBOLS[line.state] if line.state else " "
            kernels = " ".join(line.kernels)
            moved = bytes_text(line.bytes) if line.bytes is not None else ""
            rows.append(f"{sign} {line.number:>4} {line.text:<72} {kernels} {moved}".rstrip())
        return "\n".join(rows)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        html = f"<div>{legend(self._skin)}{heat(self.heat, self._skin)}</div>"
        return {"text/plain": repr(self), "text/html": html}


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

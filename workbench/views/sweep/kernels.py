"""What was tried inside of the kernels of a sweep, as HTML: choices with their times, and code."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from workbench.analysis.sweep.sweep import Sweep
from workbench.errors import WorkbenchError
from workbench.report import Report
from workbench.report.trials import Trial
from workbench.views.rivals import fragment
from workbench.views.sweep.choices import choices
from workbench.views.units import number_text, plural, seconds_text

_ROWS, _PAIRS = 24, 3
_COLUMNS = ("Operation", "Choice", "Kind", "Time", "Against the best", "Verdict")
_CELL = 'style="padding: 3px 10px; text-align: left"'


def section(sweep: Sweep) -> str:
    """The choices of the best row that has any, its winners beside the runners-up; or nothing."""
    ordered = sorted(sweep.trials, key=lambda t: (-(t.speedup or 0.0), t.call_us or 0.0))
    for trial in ordered:
        report = _report(sweep, trial)
        if report is not None and (len(report.autotune) or len(report.ranked_configs)):
            pairs = report.rivals()[:_PAIRS]
            return (
                f"<h2>Inside of the kernels of {escape(trial.title)}</h2>{_table(sweep, trial)}"
                f"{''.join(map(fragment, pairs))}"
            )
    return ""


def _report(sweep: Sweep, trial: Trial) -> Report | None:
    if trial.report is None:
        return None
    try:
        return sweep.report(trial)
    except WorkbenchError:  # a table of a colleague's has no records
        return None


def _table(sweep: Sweep, trial: Trial) -> str:
    rows = choices(sweep, [trial]).to_dict("records")
    head = "".join(f'<th scope="col" {_CELL}>{name}</th>' for name in _COLUMNS)
    body = "".join(_row(row) for row in rows[:_ROWS])
    more = len(rows) - _ROWS
    rest = f"<p>{plural(more, 'choice')} more in .choices()</p>" if more > 0 else ""
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table>{rest}</div>'


def _row(row: Mapping[Any, Any]) -> str:
    time, ratio = row["time_us"], row["against_best"]
    is_known = isinstance(time, float) and time == time  # a missing one is not a number
    words = seconds_text(time / 1e6) if is_known and isinstance(time, float) else "–"
    if row["is_model"]:
        words += " (model)"
    verdict = "chosen" if row["chosen"] else str(row["why"] or "")
    against = number_text(ratio if isinstance(ratio, float) else None, "ratio")
    cells = (row["op"], row["choice"], row["kind"], words, against, verdict)
    return f"<tr>{''.join(f'<td {_CELL}>{escape(str(cell))}</td>' for cell in cells)}</tr>"

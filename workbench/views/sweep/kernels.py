"""What was tried inside of the kernels of a sweep: choices with their times, and code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.analysis.sweep.sweep import Sweep
from workbench.errors import WorkbenchError
from workbench.report import Report
from workbench.report.trials import Trial
from workbench.views.answers.rivals import codes, sentence
from workbench.views.static_html.sweep import Inside
from workbench.views.sweep.choices import choices
from workbench.views.words.units import seconds_text

_PAIRS = 3


def inside(sweep: Sweep) -> Inside | None:
    """The choices of the best row that has any, its winners beside the runners-up."""
    ordered = sorted(sweep.trials, key=lambda t: (-(t.speedup or 0.0), t.call_us or 0.0))
    for trial in ordered:
        report = _report(sweep, trial)
        if report is not None and (len(report.autotune) or len(report.ranked_configs)):
            rows = [_row(row) for row in choices(sweep, [trial]).to_dict("records")]
            pairs = [
                {"sentence": sentence(found), "codes": codes(found)}
                for found in report.rivals()[:_PAIRS]
            ]
            return Inside(trial.title, rows, pairs)
    return None


def _report(sweep: Sweep, trial: Trial) -> Report | None:
    if trial.report is None:
        return None
    try:
        return sweep.report(trial)
    except WorkbenchError:  # a table of a colleague's has no records
        return None


def _row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A choice with its time in words; what is missing in a DataFrame is not a number."""
    time, ratio = row["time_us"], row["against_best"]
    words = seconds_text(time / 1e6) if isinstance(time, float) and time == time else None
    if words is not None and row["is_model"]:
        words += " (model)"
    return {
        **row,
        "time": words,
        "against_best": ratio if isinstance(ratio, float) and ratio == ratio else None,
        "verdict": "chosen" if row["chosen"] else row["why"] or "",
    }

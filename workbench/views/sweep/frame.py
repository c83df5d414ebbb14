"""The rows of a sweep as a DataFrame."""

from __future__ import annotations

from dataclasses import fields

import pandas

from workbench.analysis.sweep.sweep import Sweep
from workbench.report.trials import Trial

FIGURES = tuple(
    f.name
    for f in fields(Trial)
    if f.name not in ("key", "settings", "samples_us", "report", "status", "reason")
)
"""Columns of a trial besides its settings; the last part of a name is the unit."""


def frame(sweep: Sweep) -> pandas.DataFrame:
    """A row for each setting; see `Sweep.frame`."""
    rows = [
        {
            **{name: dict(trial.settings).get(name) for name in sweep.axes},
            "status": trial.status,
            "reason": trial.reason,
            **{name: getattr(trial, name) for name in FIGURES},
        }
        for trial in sweep.trials
    ]
    found = pandas.DataFrame(rows, columns=[*sweep.axes, "status", "reason", *FIGURES])
    for name in sweep.axes:  # sizes and thread counts are numbers
        numbers = pandas.to_numeric(found[name], errors="coerce")
        if len(found) and numbers.notna().all():
            found[name] = numbers
    return found

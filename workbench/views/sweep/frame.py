"""The tables of a sweep: its rows, and what was tried inside of its kernels, as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import pandas

from workbench.analysis.sweep.sweep import Sweep
from workbench.errors import WorkbenchError
from workbench.report import Report
from workbench.report.rivals import is_model
from workbench.report.trials import Trial

FIGURES = tuple(
    f.name
    for f in fields(Trial)
    if f.name not in ("key", "settings", "samples_us", "report", "status", "reason")
)
"""Columns of a trial besides its settings; the last part of a name is the unit."""
COLUMNS = ("op", "choice", "kind", "time_us", "against_best", "chosen", "is_model", "why")


def frame(
    sweep: Sweep, name: str = "trials", of: Iterable[int | Trial] | None = None
) -> pandas.DataFrame:
    """A row for each setting, or for each of its `choices`; see `Sweep.frame`, `Sweep.choices`."""
    if name == "choices":
        return choices(sweep, of)
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


def choices(sweep: Sweep, rows: Iterable[int | Trial] | None = None) -> pandas.DataFrame:
    """The choices of these rows, by default of all that have a record; see `Sweep.choices`."""
    found = []
    for row in sweep.trials if rows is None else rows:
        trial = sweep.trial(row)
        settings = {name: dict(trial.settings).get(name) for name in sweep.axes}
        report = report_of(sweep, trial)
        own = () if report is None else (*_timed(report), *_ranked(report))
        found += [{**settings, **choice} for choice in own]
    return pandas.DataFrame(found, columns=[*sweep.axes, *COLUMNS])


def report_of(sweep: Sweep, trial: Trial) -> Report | None:
    """The record of a row, where there is one."""
    if trial.report is None:
        return None
    try:
        return sweep.report(trial)
    except WorkbenchError:  # a table of a colleague's has no records
        return None


def _timed(report: Report) -> Iterator[dict[str, Any]]:
    best: dict[str, float] = {}
    for row in report.autotune:
        if row.time_ms is not None:
            best[row.op] = min(best.get(row.op, row.time_ms), row.time_ms)
    for row in report.autotune:
        time = row.time_ms
        yield {
            "op": row.op,
            "choice": row.choice,
            "kind": row.kind,
            "time_us": None if time is None else time * 1e3,
            "against_best": time / best[row.op] if time is not None and best[row.op] else None,
            "chosen": row.chosen,
            "is_model": is_model(row),
            "why": None if is_model(row) else row.note,
        }


def _ranked(report: Report) -> Iterator[dict[str, Any]]:
    rows = list(report.ranked_configs)
    best = {row.kernel: row.model_us for row in reversed(rows) if row.rank == 1}
    for row in rows:
        least = best.get(row.kernel)
        words = [row.choice, f"num_warps={row.warps}", f"num_stages={row.stages}"]
        yield {
            "op": f"{row.kernel} on {row.target}",
            "choice": ", ".join(filter(None, words)),
            "kind": "triton config",
            "time_us": row.model_us,
            "against_best": row.model_us / least if row.model_us and least else None,
            "chosen": row.rank == 1,
            "is_model": True,
            "why": row.rejection,
        }

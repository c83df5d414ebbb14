"""Every choice inside of the kernels of a sweep: what the autotuner timed, what a model ranked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas

from workbench.analysis.sweep.sweep import Sweep
from workbench.errors import WorkbenchError
from workbench.report import Report
from workbench.report.rivals import is_model
from workbench.report.trials import Trial

COLUMNS = ("op", "choice", "kind", "time_us", "against_best", "chosen", "is_model", "why")


def choices(sweep: Sweep, rows: Iterable[int | Trial] | None = None) -> pandas.DataFrame:
    """The choices of these rows, by default of all that have a record; see `Sweep.choices`."""
    found = []
    for row in sweep.trials if rows is None else rows:
        trial = sweep.trials[row] if isinstance(row, int) else row
        settings = {name: dict(trial.settings).get(name) for name in sweep.axes}
        found += [{**settings, **choice} for choice in _of_trial(sweep, trial)]
    return pandas.DataFrame(found, columns=[*sweep.axes, *COLUMNS])


def _of_trial(sweep: Sweep, trial: Trial) -> list[dict[str, Any]]:
    if trial.report is None:
        return []
    try:
        report = sweep.report(trial)
    except WorkbenchError:  # a table of a colleague's has no records
        return []
    return [*_timed(report), *_ranked(report)]


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

"""A sweep as DataFrames, and as a file for other programs, CSV or Parquet.

The columns of a file are those of `table_files.py`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from os import PathLike
from typing import Any

import pandas

from workbench.errors import UsageError, WorkbenchError
from workbench.report import Report
from workbench.report.atomic import write_saved_file
from workbench.report.rivals import is_model
from workbench.report.trials import Trial
from workbench.worlds.sweeps.rows.table_files import (
    INSTALL,
    OF_SWEEP,
    OF_TRIAL,
    is_parquet_file,
    name_column,
    name_type,
)
from workbench.worlds.sweeps.sweep import Sweep

_NO_FIGURES = ("key", "settings", "samples_us", "report", "status", "reason", "factors", "code")
FIGURES = tuple(f.name for f in fields(Trial) if f.name not in _NO_FIGURES)
"""Columns of a trial besides its settings; the last part of a name is the unit."""
COLUMNS = ("op", "choice", "kind", "time_us", "against_best", "chosen", "is_model", "why")
_KINDS = {"float": "Float64", "int": "Int64", "bool": "boolean", "str": "string"}
_LONGEST = 18  # digits that fit into 64 bits


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
            "verdict": trial.pairs.verdict if len(trial.pairs) else None,
            **{name: getattr(trial, name) for name in FIGURES},
        }
        for trial in sweep.trials
    ]
    table = pandas.DataFrame(rows, columns=[*sweep.axes, "status", "reason", "verdict", *FIGURES])
    for name in sweep.axes:  # sizes and thread counts are numbers
        numbers = pandas.to_numeric(table[name], errors="coerce")
        if len(table) and numbers.notna().all():
            table[name] = numbers
    return table


def choices(sweep: Sweep, rows: Iterable[int | Trial] | None = None) -> pandas.DataFrame:
    """The choices of these rows, by default of all that have a record; see `Sweep.choices`."""
    table_rows = []
    for row in sweep.trials if rows is None else rows:
        trial = sweep.trial(row)
        settings = {name: dict(trial.settings).get(name) for name in sweep.axes}
        report = report_of(sweep, trial)
        own = () if report is None else (*_timed(report), *_ranked(report))
        table_rows += [{**settings, **choice} for choice in own]
    return pandas.DataFrame(table_rows, columns=[*sweep.axes, *COLUMNS])


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
    first = {row.kernel: row for row in reversed(rows) if row.rank == 1}  # several may share it
    for row in rows:
        best = first.get(row.kernel)
        least = None if best is None else best.model_us
        words = [row.choice, f"num_warps={row.warps}", f"num_stages={row.stages}"]
        yield {
            "op": f"{row.kernel} on {row.target}",
            "choice": ", ".join(filter(None, words)),
            "kind": "triton config",
            "time_us": row.model_us,
            "against_best": row.model_us / least if row.model_us and least else None,
            "chosen": row is best,
            "is_model": True,
            "why": row.rejection,
        }


def write(sweep: Sweep, path: str | PathLike[str]) -> None:
    """Write the rows; raises `UsageError` for another ending and where pyarrow is missing."""
    table, content = rows(sweep), io.BytesIO()
    if is_parquet_file(path):
        try:
            table.to_parquet(content, engine="pyarrow", index=False)
        except ImportError as error:
            raise UsageError(INSTALL) from error
    else:
        table.to_csv(content, index=False, encoding="utf-8")
    with write_saved_file(path) as file:
        file.write(content.getvalue())


def rows(sweep: Sweep) -> pandas.DataFrame:
    """The table that is written; see the first lines of this file."""
    about = (sweep.name, sweep.expression, " ".join(sweep.sizes), " ".join(sweep.axes))
    count = len(sweep.trials)
    columns: dict[str, Any] = {
        name: pandas.Series([text] * count, dtype="string")
        for name, text in zip(OF_SWEEP, about, strict=True)
    }
    for name in sweep.axes:
        texts = [dict(trial.settings).get(name) for trial in sweep.trials]
        columns[name_column(name)] = _axis(texts)
    for name, each in OF_TRIAL.items():
        kind = _KINDS.get(name_type(each))
        values = [getattr(trial, name) for trial in sweep.trials]
        if kind is None:
            values = [json.dumps(value) for value in values]
        columns[name] = pandas.Series(values, dtype=kind or "string")
    return pandas.DataFrame(columns)


def _axis(texts: list[str | None]) -> Any:
    """Numbers where the texts are written as numbers are, so that other programs can sort them."""
    are_whole = all(
        t is None or (t.lstrip("-").isdecimal() and len(t) < _LONGEST and str(int(t)) == t)
        for t in texts
    )
    if not are_whole:
        return pandas.Series(texts, dtype="string")
    return pandas.Series([None if t is None else int(t) for t in texts], dtype="Int64")

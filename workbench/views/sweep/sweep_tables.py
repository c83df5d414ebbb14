"""A sweep as DataFrames, and as a file for other programs, CSV or Parquet, and back.

In a file a row is a setting. Columns besides those of `Sweep.frame`: `sweep` (the function),
`expression`, `sizes` and `axes` (names with blanks between), the same in every row, and `key`,
`report` and `samples_us` of each trial. An axis that is called like another column has `axis_`
before its name.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field, fields
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import pandas

from workbench.analysis.sweep.sweep import TABLE_ENDINGS, Sweep
from workbench.errors import ArtifactError, UsageError, WorkbenchError
from workbench.file_path import check_file_path
from workbench.plain_data import parse_json, read_file
from workbench.report import Report
from workbench.report.atomic import write_saved_file
from workbench.report.rivals import is_model
from workbench.report.trials import Trial

_NO_FIGURES = ("key", "settings", "samples_us", "report", "status", "reason", "factors", "code")
FIGURES = tuple(f.name for f in fields(Trial) if f.name not in _NO_FIGURES)
"""Columns of a trial besides its settings; the last part of a name is the unit."""
COLUMNS = ("op", "choice", "kind", "time_us", "against_best", "chosen", "is_model", "why")
_OF_SWEEP = ("sweep", "expression", "sizes", "axes")
_OF_TRIAL: Mapping[str, Field[Any]] = {f.name: f for f in fields(Trial) if f.name != "settings"}
_KINDS = {"float": "Float64", "int": "Int64", "bool": "boolean", "str": "string"}
_PARQUET = b"PAR1"
_HEAD = 4096  # bytes that are looked at before all of a file is read
_LARGEST = 256 << 20  # bytes of a file: a million settings
_DAMAGE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError),
    MemoryError,  # what a table claims to need
)
_LONGEST = 18  # digits that fit into 64 bits
_INSTALL = (
    "Parquet needs pyarrow: pip install 'aot-workbench[parquet]', or give the file the ending .csv."
)


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
    if _is_parquet(path):
        try:
            table.to_parquet(content, engine="pyarrow", index=False)
        except ImportError as error:
            raise UsageError(_INSTALL) from error
    else:
        table.to_csv(content, index=False, encoding="utf-8")
    with write_saved_file(path) as file:
        file.write(content.getvalue())


def read(path: str | PathLike[str]) -> Sweep:
    """The sweep that `write` wrote; it has no records.

    Raises `ArtifactError` for a file that holds no sweep.
    """
    try:
        is_parquet = _is_parquet(path)
        content = io.BytesIO(read_file(path, _LARGEST, partial(_check_start, is_parquet)))
        if is_parquet:
            table = pandas.read_parquet(content, engine="pyarrow")
        else:
            table = pandas.read_csv(content, dtype="string", keep_default_na=False, na_values=[""])
        return _sweep(table)
    except ImportError as error:
        raise UsageError(_INSTALL) from error
    except _DAMAGE as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ArtifactError(
            f"{Path(path).name} holds no sweep that can be read ({why}). Give a file that "
            "Sweep.export wrote."
        ) from error


def _check_start(is_parquet: bool, file: BinaryIO, size: int) -> None:
    """Raise `ValueError` for a file that begins as no table does; the rest is not read."""
    start = file.read(_HEAD)
    if is_parquet and not start.startswith(_PARQUET):
        raise ValueError("it is not a Parquet file")
    if size > _HEAD and not start.strip():
        raise ValueError("it begins with white space")


def _is_parquet(path: str | PathLike[str]) -> bool:
    ending = Path(check_file_path(path)).suffix.lower()
    if ending not in TABLE_ENDINGS:
        raise UsageError(
            f"{Path(path).name}: expected the ending .sqlite (with the records of all rows), "
            ".parquet or .csv."
        )
    return ending == ".parquet"


def rows(sweep: Sweep) -> pandas.DataFrame:
    """The table that is written; see the first lines of this file."""
    about = (sweep.name, sweep.expression, " ".join(sweep.sizes), " ".join(sweep.axes))
    count = len(sweep.trials)
    columns: dict[str, Any] = {
        name: pandas.Series([text] * count, dtype="string")
        for name, text in zip(_OF_SWEEP, about, strict=True)
    }
    for name in sweep.axes:
        texts = [dict(trial.settings).get(name) for trial in sweep.trials]
        columns[_column(name)] = _axis(texts)
    for name, each in _OF_TRIAL.items():
        kind = _KINDS.get(_type(each))
        values = [getattr(trial, name) for trial in sweep.trials]
        if kind is None:
            values = [json.dumps(value) for value in values]
        columns[name] = pandas.Series(values, dtype=kind or "string")
    return pandas.DataFrame(columns)


def _type(each: Field[Any]) -> str:
    """The annotation of a field without None."""
    return str(each.type).removesuffix(" | None")


def _axis(texts: list[str | None]) -> Any:
    """Numbers where the texts are written as numbers are, so that other programs can sort them."""
    are_whole = all(
        t is None or (t.lstrip("-").isdecimal() and len(t) < _LONGEST and str(int(t)) == t)
        for t in texts
    )
    if not are_whole:
        return pandas.Series(texts, dtype="string")
    return pandas.Series([None if t is None else int(t) for t in texts], dtype="Int64")


def _column(axis: str) -> str:
    return f"axis_{axis}" if axis in _OF_SWEEP or axis in _OF_TRIAL else axis


def _sweep(table: pandas.DataFrame) -> Sweep:
    if not len(table):
        raise ValueError("it has no rows")
    first = {name: _text(table[name].iloc[0]) or "" for name in _OF_SWEEP}
    axes = first["axes"].split()
    trials = tuple(_trial(row, axes) for row in table.to_dict("records"))
    values = {
        name: tuple(
            dict.fromkeys(
                own[name] for own in map(dict, (t.settings for t in trials)) if name in own
            )
        )
        for name in axes
    }
    return Sweep(
        name=first["sweep"],
        axes=values,
        sizes=tuple(first["sizes"].split()),
        trials=trials,
        seconds=0.0,
        notes=("Read from a table: nothing was run, the rows have no records.",),
        expression=first["expression"],
    )


def _trial(row: Mapping[Any, Any], axes: list[str]) -> Trial:
    texts = ((name, _text(row[_column(name)])) for name in axes)
    data: dict[str, Any] = {"settings": [(name, text) for name, text in texts if text is not None]}
    for name, each in _OF_TRIAL.items():
        text = _text(row[name]) if name in row else None
        if text is not None:
            data[name] = _value(_type(each), text)
    return Trial.from_json(data)


def _value(kind: str, text: str) -> Any:
    if kind == "bool":
        return text.lower() in ("true", "1")
    if kind == "int":
        return int(float(text)) if "." in text else int(text)
    if kind in ("float", "str"):
        return float(text) if kind == "float" else text
    return parse_json(text)


def _text(value: Any) -> str | None:
    """A cell as text, whichever program wrote it; None for an empty one."""
    if value is None or value is pandas.NA or value != value:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)

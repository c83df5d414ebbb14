"""A sweep as a file for other programs, CSV or Parquet, read back.

In a file a row is a setting. Columns besides those of `Sweep.frame`: `sweep` (the function),
`expression`, `sizes` and `axes` (names with blanks between), the same in every row, and `key`,
`report` and `samples_us` of each trial. An axis that is called like another column has `axis_`
before its name.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import Field, fields
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import pandas

from workbench.errors import ArtifactError, UsageError
from workbench.file_path import check_file_path
from workbench.plain_data import parse_json, read_file
from workbench.report.trials import Trial

TABLE_ENDINGS = (".csv", ".parquet")
OF_SWEEP = ("sweep", "expression", "sizes", "axes")
OF_TRIAL: Mapping[str, Field[Any]] = {f.name: f for f in fields(Trial) if f.name != "settings"}
_PARQUET = b"PAR1"
_HEAD = 4096  # bytes that are looked at before all of a file is read
_LARGEST = 256 << 20  # bytes of a file: a million settings
_DAMAGE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError),
    MemoryError,  # what a table claims to need
)
INSTALL = "Parquet needs pyarrow: pip install 'aot-workbench[parquet]', or use the ending .csv."


def read_table(path: str | PathLike[str]) -> dict[str, Any]:
    """The fields of the sweep that `Sweep.export` wrote; it has no records.

    Raises `ArtifactError` for a file that holds no sweep.
    """
    try:
        is_parquet = is_parquet_file(path)
        content = io.BytesIO(read_file(path, _LARGEST, partial(_check_start, is_parquet)))
        if is_parquet:
            table = pandas.read_parquet(content, engine="pyarrow")
        else:
            table = pandas.read_csv(content, dtype="string", keep_default_na=False, na_values=[""])
        return _read_fields(table)
    except ImportError as error:
        raise UsageError(INSTALL) from error
    except _DAMAGE as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ArtifactError(
            f"{Path(path).name} has no readable sweep ({why}). Give a file from Sweep.export."
        ) from error


def _check_start(is_parquet: bool, file: BinaryIO, size: int) -> None:
    """Raise `ValueError` for a file that begins as no table does; the rest is not read."""
    start = file.read(_HEAD)
    if is_parquet and not start.startswith(_PARQUET):
        raise ValueError("it is not a Parquet file")
    if size > _HEAD and not start.strip():
        raise ValueError("it begins with white space")


def is_parquet_file(path: str | PathLike[str]) -> bool:
    """Whether a table is Parquet and not CSV; raises `UsageError` for another ending."""
    ending = Path(check_file_path(path)).suffix.lower()
    if ending not in TABLE_ENDINGS:
        raise UsageError(
            f"{Path(path).name}: expected the ending .sqlite (with the reports of all rows), "
            ".parquet or .csv."
        )
    return ending == ".parquet"


def name_type(each: Field[Any]) -> str:
    """The annotation of a field without None."""
    return str(each.type).removesuffix(" | None")


def name_column(axis: str) -> str:
    """The column of an axis, which may be called like another column."""
    return f"axis_{axis}" if axis in OF_SWEEP or axis in OF_TRIAL else axis


def _read_fields(table: pandas.DataFrame) -> dict[str, Any]:
    if not len(table):
        raise ValueError("it has no rows")
    first = {name: _text(table[name].iloc[0]) or "" for name in OF_SWEEP}
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
    return dict(
        name=first["sweep"],
        axes=values,
        sizes=tuple(first["sizes"].split()),
        trials=trials,
        seconds=0.0,
        notes=("Read from a table: nothing was run, and rows have no reports.",),
        expression=first["expression"],
    )


def _trial(row: Mapping[Any, Any], axes: list[str]) -> Trial:
    texts = ((name, _text(row[name_column(name)])) for name in axes)
    data: dict[str, Any] = {"settings": [(name, text) for name, text in texts if text is not None]}
    for name, each in OF_TRIAL.items():
        text = _text(row[name]) if name in row else None
        if text is not None:
            data[name] = _value(name_type(each), text)
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

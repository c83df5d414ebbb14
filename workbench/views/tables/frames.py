"""The tables of a report as pandas DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas

from workbench.analysis.fusion.fusion import KernelTraffic, traffic_by_kernel
from workbench.analysis.fusion.why_not import NotFused, not_fused
from workbench.errors import UsageError
from workbench.report import TABLES, Report, Table
from workbench.views.tables.columns import FIRST_COLUMNS

_NUMBERS = {
    "bytes": "Int64",
    "bytes_read": "Int64",
    "bytes_written": "Int64",
    "shared_bytes": "Int64",
    "bytes_alone": "Int64",
    "bytes_fused": "Int64",
    "flops": "Int64",
    "moved_bytes": "Int64",
    "copied_bytes": "Int64",
    "line": "Int64",
    "registers": "Int64",
    "spills": "Int64",
    "smem_bytes": "Int64",
    "instructions": "Int64",
    "blocks": "Int64",
    "rank": "Int64",
    "occupancy": "float64",
    "bound_us": "float64",
    "model_us": "float64",
    "time_us": "float64",
    "time_ms": "float64",
}
_MADE: Mapping[str, tuple[type, Callable[[Report], Sequence[Any]]]] = {
    "not_fused": (NotFused, not_fused),
    "traffic": (KernelTraffic, traffic_by_kernel),
}
"""Tables that are made from others when asked for: the type of a row, who makes them."""
_TEXTS = (
    "sources",
    "graphs",
    "kernels",
    "wrappers",
    "assembly",
    "autotune",
)  # `text` names a text kept once


def frame(report: Report, name: str) -> pandas.DataFrame:
    """One table of the report: one that was recorded, or `traffic` or `not_fused`, made of them.

    Raises
    ------
    UsageError
        When there is no table of that name; the message lists the names.
    """
    if name in _MADE:
        row_type, rows = _MADE[name]
        table = Table.of(row_type, rows(report))
        return _typed(pandas.DataFrame({c: list(table.columns[c]) for c in _columns(row_type)}))
    if name not in TABLES:
        names = ", ".join(sorted((*TABLES, *_MADE)))
        raise UsageError(f"There is no table {name!r}. Take one of: {names}.")
    first = FIRST_COLUMNS.get(name, [])
    order = [*first, *(c for c in _columns(TABLES[name]) if c not in first)]
    return _typed(pandas.DataFrame({c: _values(report, name, c) for c in order}))


def _typed(made: pandas.DataFrame) -> pandas.DataFrame:
    """Missing numbers do not turn integers into floats."""
    for column, dtype in _NUMBERS.items():
        if column in made:
            made[column] = made[column].astype(dtype)  # type: ignore[call-overload]
    return made


def _columns(row_type: type) -> list[str]:
    return list(row_type.__dataclass_fields__)  # type: ignore[attr-defined]


def _values(report: Report, name: str, column: str) -> list[Any]:
    values = list(getattr(report, name).columns.get(column, ()))
    if column == "text" and name in _TEXTS:
        return [report.texts.get(key) for key in values]
    return values

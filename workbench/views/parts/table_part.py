"""The part `table:<name>`: one table of the report by column."""

from __future__ import annotations

from typing import Any

from workbench.errors import UsageError
from workbench.report import TABLES, Report
from workbench.views.tables.columns import FIRST_COLUMNS
from workbench.views.wire.report_messages import Cell, TablePart

_TEXTS = ("sources", "graphs", "kernels", "wrappers")  # `text` names one that other parts hold


def build_table_part(report: Report, name: str) -> TablePart:
    """Build the part; raises `UsageError` for a name that is no table."""
    if name not in TABLES:
        raise UsageError(f"There is no table {name!r}. Take one of: {', '.join(sorted(TABLES))}.")
    table = getattr(report, name)
    first = [column for column in FIRST_COLUMNS.get(name, ()) if column in table.columns]
    hidden = ["text"] if name in _TEXTS else []
    order = [*first, *(c for c in table.columns if c not in (first + hidden))]
    columns = {column: [_cell(value) for value in table.columns[column]] for column in order}
    return {"kind": "table", "name": name, "columns": columns, "rows": len(table)}


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple | list):
        return ", ".join(_words(item) for item in value)
    return str(value)


def _words(item: Any) -> str:
    if isinstance(item, tuple | list) and len(item) == 2:
        return f"{item[0]}={item[1]}"
    return str(item)

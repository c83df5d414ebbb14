"""Some rows of a big table, picked by column: an object of every row takes ten times as long."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import compress
from typing import Any, TypeVar

from workbench.report import Report, Table

Row = TypeVar("Row")


def rows_with(table: Table[Row], column: str, wanted: Collection[Any]) -> Iterator[Row]:
    """The rows whose value in a column is one of those wanted, in the order of the table."""
    values = table.columns.get(column, ())
    kept = list(compress(range(len(values)), map(wanted.__contains__, values)))
    picked = {name: [values[row] for row in kept] for name, values in table.columns.items()}
    return iter(Table(table.row_type, picked))


def linked_pairs(report: Report, relation: str) -> Iterator[tuple[str, str]]:
    """Both ends of every link of one relation."""
    columns = report.links.columns
    ends = zip(columns.get("a", ()), columns.get("b", ()), strict=True)
    return compress(ends, map(relation.__eq__, columns.get("relation", ())))

"""Some rows of a big table, picked by column: an object of every row takes ten times as long."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import compress
from typing import Any, TypeVar

from workbench.report.record import Report
from workbench.report.table import Table

Row = TypeVar("Row")


def select_rows(table: Table[Row], column: str, wanted: Collection[Any]) -> Iterator[Row]:
    """The rows whose value in a column is one of those wanted, in the order of the table."""
    picked = dict(zip(table.columns, _picked(table, column, wanted, table.columns), strict=True))
    return iter(Table(table.row_type, picked))


def read_parts_at(
    table: Table[Any], rows: Collection[int], names: Iterable[str]
) -> Iterator[tuple[Any, ...]]:
    """The rows at these positions, only the named columns of each."""
    return zip(*_columns_at(table, rows, names), strict=True)


def select_parts(
    table: Table[Any], column: str, wanted: Collection[Any], names: Iterable[str]
) -> Iterator[tuple[Any, ...]]:
    """The same rows, only the named columns of each: seven times as fast as whole rows."""
    return zip(*_picked(table, column, wanted, names), strict=True)


def _picked(
    table: Table[Any], column: str, wanted: Collection[Any], names: Iterable[str]
) -> Iterator[list[Any]]:
    values = table.columns.get(column, ())
    kept = list(compress(range(len(values)), map(wanted.__contains__, values)))
    yield from _columns_at(table, kept, names)


def _columns_at(
    table: Table[Any], rows: Collection[int], names: Iterable[str]
) -> Iterator[list[Any]]:
    for name in names:
        part = table.columns.get(name)
        yield [part[row] for row in rows] if part else [None] * len(rows)


def list_linked_pairs(report: Report, relation: str) -> Iterator[tuple[str, str]]:
    """Both ends of every link of one relation."""
    columns = report.links.columns
    a, b, relations = (columns.get(name, ()) for name in ("a", "b", "relation"))
    count = relations.count(relation)
    if not count:
        return iter(())
    first = relations.index(relation)
    own = slice(first, first + count)
    if relations[own].count(relation) == count:  # they stand together
        return zip(a[own], b[own], strict=True)
    return compress(zip(a, b, strict=True), map(relation.__eq__, relations))

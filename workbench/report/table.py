"""A columnar table whose schema is a frozen data class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, Generic, TypeVar, get_type_hints

from workbench.typed_data import read_columns, read_row

Row = TypeVar("Row")


@cache
def number_columns(row_type: Any) -> Mapping[str, type[int] | type[float]]:
    """The columns of numbers of one type, some of which may be missing."""
    return {
        name: number
        for name, hint in get_type_hints(row_type).items()
        for number in (int, float)
        if hint in (number, number | None)
    }


@dataclass(frozen=True)
class _Stored:
    """A table as JSON has it."""

    columns: Mapping[str, Any]
    omitted: int = 0


@dataclass(frozen=True)
class Table(Generic[Row]):
    """Rows of one data class, stored by column.

    `omitted` counts rows that were seen but not kept because of a cap.
    """

    row_type: type[Row]
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    omitted: int = 0

    @classmethod
    def of(cls, row_type: type[Row], rows: Iterable[Row] = (), *, omitted: int = 0) -> Table[Row]:
        """Build a table from row objects."""
        kept = rows if isinstance(rows, list) else list(rows)
        names = [f.name for f in fields(row_type)]  # type: ignore[arg-type]
        data = {name: list(map(attrgetter(name), kept)) for name in names}
        return cls(row_type, data, omitted)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __iter__(self) -> Iterator[Row]:
        names = list(self.columns)
        if names == [f.name for f in fields(self.row_type)]:  # type: ignore[arg-type]
            for values in zip(*self.columns.values(), strict=True):
                yield self.row_type(*values)  # three times as fast as by name
            return
        for values in zip(*self.columns.values(), strict=True):
            yield self.row_type(**dict(zip(names, values, strict=True)))

    def __getitem__(self, index: int) -> Row:
        return self.row_type(**{name: values[index] for name, values in self.columns.items()})

    def to_json(self) -> dict[str, Any]:
        """The table as JSON-ready data: columns by name."""
        return {"columns": {k: list(v) for k, v in self.columns.items()}, "omitted": self.omitted}

    @classmethod
    def from_json(cls, row_type: type[Row], data: Mapping[str, Any]) -> Table[Row]:
        """Read what `to_json` wrote; raises `Misfit` as `read_columns` does for anything else."""
        stored = read_row(_Stored, data)
        return cls(row_type, read_columns(row_type, stored.columns), stored.omitted)


@dataclass(frozen=True)
class KeptRows(Table[Row]):
    """A table whose rows are made once, by the first who asks for them."""

    @classmethod
    def of_table(cls, table: Table[Row]) -> KeptRows[Row]:
        """The same table."""
        return cls(table.row_type, table.columns, table.omitted)

    @cached_property
    def _rows(self) -> tuple[Row, ...]:
        return tuple(super().__iter__())

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

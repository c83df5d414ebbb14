"""A columnar table whose schema is a frozen data class."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, Generic, TypeVar

Row = TypeVar("Row")


def _types(row_type: Any) -> Iterator[tuple[str, set[Any]]]:
    """Each column with the types that its values may have."""
    for name, hint in typing.get_type_hints(row_type).items():
        is_union = typing.get_origin(hint) in (types.UnionType, typing.Union)
        yield name, set(typing.get_args(hint) if is_union else (hint,))


@cache
def _tuple_columns(row_type: Any) -> frozenset[str]:
    """The columns whose values are tuples: JSON turns them into lists."""
    return frozenset(
        name
        for name, options in _types(row_type)
        if any(typing.get_origin(option) is tuple or option is tuple for option in options)
    )


@cache
def number_columns(row_type: Any) -> Mapping[str, type[int] | type[float]]:
    """The columns of numbers of one type, some of which may be missing."""
    return {
        name: number
        for name, options in _types(row_type)
        for number in (int, float)
        if options - {types.NoneType} == {number}
    }


def freeze(value: Any) -> Any:
    """Lists, which JSON made of tuples, as tuples again."""
    if not isinstance(value, list):
        return value
    return tuple(map(freeze, value)) if list in map(type, value) else tuple(value)


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
        """Read what `to_json` wrote; unknown columns are ignored, missing ones take defaults.

        A field may name in its metadata what its column was called in a former version.

        Raises ValueError, TypeError, KeyError or AttributeError for anything else.
        """
        stored: Mapping[str, Sequence[Any]] = data["columns"]
        lengths = {len(v) for v in stored.values()}
        if len(lengths) > 1:
            raise ValueError("columns of one length")
        length = max(lengths, default=0)
        tuples = _tuple_columns(row_type)  # type: ignore[arg-type]
        columns: dict[str, Sequence[Any]] = {}
        for f in fields(row_type):  # type: ignore[arg-type]
            known: str = f.name if f.name in stored else f.metadata.get("former", "")
            if known in stored:
                values = stored[known]
                columns[f.name] = [freeze(v) for v in values] if f.name in tuples else values
            else:
                columns[f.name] = [None if f.default is MISSING else f.default] * length
        return cls(row_type, columns, int(data.get("omitted", 0)))


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

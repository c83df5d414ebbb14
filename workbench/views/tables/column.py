"""Columns of a table, described once: for the interactive view, and for where no script runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, Literal, cast, get_args

from workbench import number_text as units
from workbench.views.wire.table_messages import INFINITE, Cell, ColumnKind, ColumnSpec, TableRows
from workbench.views.wire.table_messages import Unit as WireUnit

CUT = "…"
Unit = Literal[
    "",
    "code",
    "prose",
    "word",
    "right",
    "length",
    "number",
    "B",
    "s",
    "ms",
    "us",
    "count",
    "share",
    "ratio",
    "amount",
    "eps",
]
_WORDS: Mapping[str, Callable[[Any], str]] = {
    "right": str,
    "length": lambda value: str(len(value)),
    "number": lambda value: f"{value:,.4g}" if isinstance(value, float) else str(value),
    "B": units.format_bytes,
    "s": lambda value: units.format_seconds(value) if value else "0",
    "ms": lambda value: units.format_ms(value) if value else "0",
    "us": lambda value: units.format_us(value) if value else "0",
    "count": units.count_text,
    "amount": lambda value: units.number_text(value, "amount"),
    "share": lambda value: units.format_percent(value, 1),
    "eps": lambda value: units.number_text(inf if value >= INFINITE else value, "difference"),
    "ratio": lambda value: units.number_text(value, "ratio"),
}
"""Units of what stands on the right, each with how a value is written."""


def exact(unit: Unit) -> Unit:
    """A unit for where every digit of a count is wanted."""
    return "number" if unit == "count" else unit


_WIDTHS = {
    "code": "minmax(90px, 1.2fr)",
    "prose": "minmax(120px, 2fr)",
    "s": "minmax(82px, 0.5fr)",  # of hours and minutes
}
_OF_NUMBER, _OF_WORD = "minmax(58px, 0.5fr)", "minmax(64px, 0.7fr)"


@dataclass(frozen=True)
class Column:
    """A column: its title, its name, the unit of its values, and what `ColumnSpec` has besides.

    `field` is what it shows of a row, its name where it is not said: `facts.Lines` is the fact of
    that name of a row that has `facts`. Prose is a sentence, a word is never broken. `is_optional`
    columns are left out of the interactive view where no row has a value.
    """

    title: str
    key: str
    unit: Unit = ""
    width: str = ""
    field: str = ""
    kind: ColumnKind = "text"
    look: Literal["", "mono", "mut", "end"] = ""
    full: str = ""
    written: str = ""
    tone: str = ""
    hint: str = ""
    absent: str = ""
    is_wide: bool = False
    is_optional: bool = False

    @property
    def shows(self) -> str:
        """The field of a row that it shows."""
        return self.field or self.key

    @property
    def style(self) -> str:
        """The class of its cells where no script runs."""
        if self.unit in _WORDS:
            return "num"
        if self.kind == "kernel":
            return "code"
        return self.unit if self.unit in ("code", "word") else "text"

    def spec(self) -> ColumnSpec:
        """The column as it travels: without what is as usual."""
        kind, width = self.kind, self.width or _WIDTHS.get(self.unit, _OF_WORD)
        if kind == "text" and self.unit in ("code", "length"):
            kind = cast(ColumnKind, self.unit)
        elif kind == "text" and self.unit in _WORDS:
            kind, width = "number", self.width or _WIDTHS.get(self.unit, _OF_NUMBER)
        unit = self.unit if self.unit in get_args(WireUnit) else ""
        own = {"kind": "" if kind == "text" else kind, "unit": unit}
        names = (
            *("field", "kind", "unit", "look", "full", "written", "tone", "hint"),
            *("absent", "is_wide"),
        )
        fields = {name: value for name in names if (value := own.get(name, getattr(self, name)))}
        return cast(ColumnSpec, {"key": self.key, "title": self.title, "width": width, **fields})

    def value(self, row: Mapping[str, Any]) -> Any:
        """What a row has in this column; None where it has nothing."""
        value: Any = row
        for name in self.shows.split("."):
            value = None if value is None else dict(value).get(name)
        return value

    def words(self, row: Mapping[str, Any], letters: int | None) -> str:
        """The cell of a row as text of at most so many letters; prose is as long as it is."""
        value = self.value(row)
        if value is None or value == "":
            return units.ABSENT if self.unit in _WORDS else ""
        if self.unit in _WORDS:
            return _WORDS[self.unit](value)
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        is_whole = letters is None or self.unit == "prose" or len(text) <= letters
        return text if is_whole else f"{text[: (letters or 0) - 1]}{CUT}"


@dataclass(frozen=True)
class Shown:
    """A table with its rows; `none` is said where there are none, `cost` is the field to keep by.

    `omitted` rows were counted and not kept.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Mapping[str, Any]]
    none: str
    cost: str
    omitted: int = 0

    @property
    def call(self) -> str:
        """The Python that gives all of it."""
        return f'.frame("{self.name}")'


def pack_table(own: Shown, most: int, besides: Collection[str] = ()) -> TableRows:
    """The columns that have a value in any row, and the costliest rows in their order.

    `besides` are fields that a row has with those of its columns.
    """
    places = range(len(own.rows))
    kept = list(places)
    if len(kept) > most:
        kept = sorted(sorted(places, key=lambda at: -(own.rows[at][own.cost] or 0.0))[:most])
    shown = [own.rows[at] for at in kept]
    columns = [c for c in own.columns if any(c.value(row) not in (None, "") for row in shown)]
    return {
        "id": own.name,
        "title": own.title,
        "none": own.none,
        "columns": [column.spec() for column in columns],
        "rows": [_pack_row(own, at, columns, besides) for at in kept],
        "more": len(places) - len(kept) + own.omitted,
    }


def _pack_row(
    own: Shown, at: int, columns: Sequence[Column], besides: Collection[str]
) -> dict[str, Cell]:
    row = own.rows[at]
    names = [*besides, *(column.full for column in columns if column.full)]
    more = {name: _cell(row[name]) for name in names if name in row}
    cells = {
        column.key: len(column.value(row) or ())
        if column.unit == "length"
        else _cell(column.value(row))
        for column in columns
    }
    return {**more, **cells, "row": f"{own.name}:{at}"}


def _cell(value: Any) -> Cell:
    if isinstance(value, float):
        return float(f"{value:.5g}") if isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return value if value is None or isinstance(value, str | int) else str(value)

"""A column of a table, described once: for the interactive view, and for where no script runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from workbench.views.wire.table_messages import ColumnKind, ColumnSpec
from workbench.views.wire.table_messages import Unit as WireUnit
from workbench.views.words import units

CUT = "…"
Unit = Literal[
    "", "code", "prose", "word", "right", "length", "number",
    "B", "s", "ms", "us", "count", "share", "ratio", "amount",
]  # fmt: skip
_WORDS: Mapping[str, Callable[[Any], str]] = {
    "right": str,
    "length": lambda value: str(len(value)),
    "number": lambda value: f"{value:,.4g}" if isinstance(value, float) else str(value),
    "B": units.format_bytes,
    "s": units.format_seconds,
    "ms": units.format_ms,
    "us": units.format_us,
    "count": units.count_text,
    "amount": lambda value: units.number_text(value, "amount"),
    "share": lambda value: units.format_percent(value, 1),
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
    look: Literal["", "mono", "mut"] = ""
    full: str = ""
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
        names = ("field", "kind", "unit", "look", "full", "hint", "absent", "is_wide")
        said = {name: value for name in names if (value := own.get(name, getattr(self, name)))}
        return cast(ColumnSpec, {"key": self.key, "title": self.title, "width": width, **said})

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

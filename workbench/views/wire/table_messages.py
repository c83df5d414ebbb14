"""How the tables of a view are drawn: their columns.

See `document.py`. The columns are described in `columns.py`; what is not said of
one is as its comment says.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

ColumnKind = Literal["text", "code", "number", "length", "kernel", "kernels", "tag", "bar"]
Cell = str | int | float | bool | None
Tone = Literal["plain", "captured", "break", "fallback", "folded"]
INFINITE = 1e300
"""What stands for a number without end, which JSON cannot hold."""
Unit = Literal["", "count", "B", "s", "ms", "us", "share", "amount", "eps"]

Terms = dict[str, dict[str, list[str]]]
"""Words by place, each with what it is, its unit, its source; see `workbench/glossary.py`."""


class ColumnSpec(TypedDict):
    """One column: `key` names it, `title` stands over it, `width` is a track of a CSS grid.

    `field` is the field of a row that it shows, `key` where it is not said; a dot leads into a
    field. `kind` is "text" unless it is said: a number has the `unit` that it is given in, a
    "length" counts a list, a "bar" is as long as its part of the largest. `full` is the field with
    the whole text, where the column has only the gist; `written` is the field with the words of the
    value that it is sorted by. `tone` is the field with the tone of a tag, empty for muted words;
    `hint` says of all cells what they are. What is read from its "end", as a file with a line,
    loses its beginning where it is too long.
    `absent` stands for a value that is unknown. `is_wide` columns are left out where there is
    little room.
    """

    key: str
    title: str
    width: str
    field: NotRequired[str]
    kind: NotRequired[ColumnKind]
    unit: NotRequired[Unit]
    look: NotRequired[Literal["mono", "mut", "end"]]
    full: NotRequired[str]
    written: NotRequired[str]
    tone: NotRequired[str]
    hint: NotRequired[str]
    absent: NotRequired[str]
    is_wide: NotRequired[bool]


class TableRows(TypedDict):
    """One table; `none` is what is said where it has no rows. `more` counts those left out.

    The `row` of each is its id, such as "breaks:2"; that of a compile, "compiles:3", names its
    report. `details` is what is said of a row that is selected: a head, a line for each reason.
    """

    id: str
    title: str
    none: str
    columns: list[ColumnSpec]
    rows: list[dict[str, Cell]]
    more: int

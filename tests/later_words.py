"""Tables as a later release may write them: with words and ids that this one does not know."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from workbench.report import Table

WORD = "a later word"


def list_text_columns(row_type: Any) -> Iterator[str]:
    """The columns that hold texts, or tuples of texts."""
    for name, hint in typing.get_type_hints(row_type).items():
        if _has_text(hint):
            yield name


def change_words(table: Table[Any], columns: Iterable[str], rows: Iterable[int]) -> Table[Any]:
    """The same table with the word in the place of every text in these columns and rows."""
    made = {name: list(values) for name, values in table.columns.items()}
    places = list(rows)
    for name in columns:
        for place in places:
            made[name][place] = _say(made[name][place])
    return Table(table.row_type, made, table.omitted)


def fill_row(row_type: Any) -> Table[Any]:
    """A table of one row whose every text is the word, and whose every number is 0."""
    hints = typing.get_type_hints(row_type)
    return Table(row_type, {f.name: [_fill(hints[f.name])] for f in fields(row_type)})


def _has_text(hint: Any) -> bool:
    is_word = hint is str or typing.get_origin(hint) is typing.Literal
    return is_word or any(map(_has_text, typing.get_args(hint)))


def _say(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_say, value))
    return WORD if isinstance(value, str) else value


def _fill(hint: Any) -> Any:
    parts = typing.get_args(hint)
    if hint is str or typing.get_origin(hint) is typing.Literal:
        return WORD
    if typing.get_origin(hint) is tuple:
        return tuple(_fill(part) for part in parts if part is not ...)
    if type(None) in parts:
        return _fill(parts[0])
    return hint() if hint in (int, float, bool) else None

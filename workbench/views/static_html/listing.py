"""Source lines, highlighted, with what became of each, as the lines of a listing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String

from workbench.views.blocks import Limits
from workbench.views.wire.report_messages import CostKind, Line, Note, Source
from workbench.views.words.record_words import choose_cost_of_lines, cost_text

LONGEST = 1500  # lines; Pygments needs 0.2 s for 1,000 lines and makes the page six times as big

_CLASSES: tuple[tuple[Any, str], ...] = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "f"),
    (Name.Builtin.Pseudo, "k"),
)

_SHORT, _TINY = 24, 12  # lines: functions up to this length are not folded where there is room
_KERNELS = 2  # named beside a line
_GUTTER = 11  # letters of those


def pieces(text: str, language: str) -> Iterator[tuple[str | None, str]]:
    """The text in pieces with their class: k, n, s, c, f or None; together they are the text."""
    text = text.replace("\r", "")  # Pygments would make lines of them
    if language == "text" or text.count("\n") > LONGEST:
        yield None, text
        return
    last: str | None = None
    held = ""
    for token, value in _lexer(language).get_tokens(text):
        name = _class_of(token) if value.strip() else last
        if name == last:
            held += value
            continue
        if held:
            yield last, held
        last, held = name, value
    yield last, held


def split_line_pieces(text: str, language: str) -> list[list[tuple[str | None, str]]]:
    """The pieces of each line."""
    lines: list[list[tuple[str | None, str]]] = [[]]
    for name, value in pieces(text, language):
        first, *rest = value.split("\n")
        lines[-1].append((name, first))
        for part in rest:
            lines.append([(name, part)])
    return lines


@cache
def _lexer(language: str) -> Lexer:
    # ensurenl, stripnl: the pieces must give back exactly the text
    return get_lexer_by_name(language, ensurenl=False, stripnl=False)


@cache
def _class_of(token: Any) -> str | None:  # a token type: contains its subtypes
    return next((name for kind, name in _CLASSES if token in kind), None)


@dataclass(frozen=True)
class Row:
    """A line: its state, the gutter before it, its text in highlighted pieces, its remarks."""

    state: str
    number: int
    kernels: str
    cost: str
    pieces: list[tuple[str | None, str]]
    notes: Sequence[Note] = ()


@dataclass(frozen=True)
class Listing:
    """A function's lines; a number of 0 stands for lines that are left out."""

    file: str
    name: str
    rows: list[Row]


def choose_listings(sources: Sequence[Source], limits: Limits) -> tuple[list[Listing], int]:
    """The functions in which something happened, and how many of them are left out."""
    listings: list[Listing] = []
    room, left = limits.lines, 0
    kind = choose_cost_of_lines(mark for source in sources for mark in source["marks"])
    for source in sources:
        if not source["marks"]:
            continue
        rows = list(_rows(source, limits, kind)) if room > 0 else []
        if not rows or (listings and len(rows) > room):
            left += 1
            continue
        room -= len(rows)
        listings.append(Listing(source["file"], source["name"], rows))
    return listings, left


def _rows(source: Source, limits: Limits, kind: CostKind | None) -> Iterator[Row]:
    marks = {int(mark["id"].rpartition(":")[2]): mark for mark in source["marks"]}
    kept = _kept(source, marks, limits)
    texts = split_line_pieces("\n".join(source["lines"]), "python")
    last = source["first"] - 1
    for number in kept:
        if number > last + 1:
            yield Row("", 0, "", "", [(None, "…")])
        last = number
        yield _row(marks.get(number), number, texts[number - source["first"]], kind)


def _kept(source: Source, marks: Mapping[int, Line], limits: Limits) -> list[int]:
    """The numbers of the lines to show; a short function stays whole while there is room."""
    first, count = source["first"], len(source["lines"])
    every = range(first, first + count)
    near = {
        n + off for n in marks for off in range(-limits.context, limits.context + 1)
    }  # fmt: skip
    is_whole = count <= min(_SHORT if limits.context else _TINY, limits.lines)
    kept = [n for n in every if is_whole or n == first or n in near]
    while kept and not source["lines"][kept[-1] - first].strip():
        kept.pop()
    return kept[: limits.lines]


def _row(
    mark: Line | None, number: int, pieces: list[tuple[str | None, str]], kind: CostKind | None
) -> Row:
    if mark is None:
        return Row("", number, "", "", pieces)
    cost = cost_text(mark["cost"], kind)
    return Row(mark["state"], number, _kernels(mark["kernels"]), cost, pieces, mark["notes"])


def _kernels(ids: Sequence[str]) -> str:
    words = " ".join(ids[:_KERNELS])
    rest = len(ids) - _KERNELS
    return f"{words} +{rest}" if rest > 0 else words


def gutter(row: Row) -> str:
    """The number of a line, the kernels that it ends in, its share of their cost."""
    return f"{row.number or '':>5} {row.kernels:<{_GUTTER}}{row.cost:>8}"

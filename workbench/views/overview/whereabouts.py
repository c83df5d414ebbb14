"""Where a cost goes, in a sentence: the line that has most of it, and what of that line."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from workbench.analysis.calls.module_tree import CostRow, list_module_rows
from workbench.report import Report
from workbench.report.rows import split_line
from workbench.views.wire.overview_messages import Piece
from workbench.views.words.record_words import short, text_of
from workbench.views.words.units import format_percent

_WORDS = ((0.95, "Nearly all"), (0.64, "Two thirds"), (0.47, "Half"), (0.31, "A third"))
_NEAR = 0.03  # a part is called by its word within this
_LEAST = 0.05  # smaller parts are no headline
_LETTERS = 44
_ONLY_NUMBERS = set("0123456789–.")
_ALL = 0.95  # a part that is all of its line says nothing more


def plain(text: str, select: str | None = None) -> Piece:
    """Text, which may lead to a thing."""
    return {"text": text, "look": "plain", "select": select}


def figure(text: str) -> Piece:
    """A number that matters."""
    return {"text": text, "look": "figure", "select": None}


def code(text: str) -> Piece:
    """A piece of the user's code, cut where it is long."""
    return {
        "text": short(" ".join(text.split()).rstrip(":"), _LETTERS),
        "look": "code",
        "select": None,
    }


def list_whereabouts(
    report: Report, rows: Sequence[CostRow], kind: str, whole: float, of: str
) -> Iterator[Piece]:
    """`A third of it is line 35, self.out1(u), most of that norm2. ` or nothing.

    A line that has little of it is no headline, nor the only one of the call, nor one of which all
    have as much.

    Lines of libraries are not named: it is the user's line that calls them. Where there is no
    other, as in a module of torch's own, it is the module below it: `Half of it is self_attn. `
    """
    lines = [line for row in rows if row.kind == "function" for line in row.parts]
    while len(lines) == 1:  # all of it is that line: what it calls tells more
        inner = [each for call in lines[0].parts if call.kind == "function" for each in call.parts]
        if not inner:
            break
        lines = inner
    parts = lines or list_module_rows(report).parts
    most = max(parts, key=lambda part: part.total.get(kind, 0.0), default=None)
    share = 0.0 if most is None or not whole else most.total.get(kind, 0.0) / whole
    if most is None or share < _LEAST or len(parts) < 2:
        return
    if len({part.total.get(kind) for part in parts}) == 1:  # one kernel, shared out evenly
        return
    pieces = [plain(f"{_part(share)} of {of} is ")]
    if not lines:
        pieces.append(plain(most.name, most.id))
    else:
        pieces.append(plain(f"line {most.id.rpartition(':')[2]}", most.id))
        if text := _call_of(read_line(report, most.id)):
            pieces += [plain(", "), code(text)]
    pieces += _most_of(report, most, kind)
    yield from pieces
    yield plain(" " if pieces[-1]["text"].endswith("…") else ". ")


def _part(share: float) -> str:
    for value, word in _WORDS:
        if share >= value and (value == _WORDS[0][0] or share < value + 2 * _NEAR):
            return word
    return f"About {format_percent(share)}"


def _most_of(report: Report, line: CostRow, kind: str) -> Iterator[Piece]:
    """The innermost thing that has most of a line but not all, where one has."""
    whole, inner, row, function = line.total.get(kind, 0.0), None, line, ""
    while row.parts:
        row = max(row.parts, key=lambda part: part.total.get(kind, 0.0))
        cost = row.total.get(kind, 0.0)
        if cost <= whole / 2:
            break
        is_part = cost < _ALL * whole or row.kind == "module"
        # "0–2" of a Sequential tells nothing
        is_named = row.kind != "module" or not set(row.name) <= _ONLY_NUMBERS
        inner = (row, function) if is_part and is_named else inner
        function = row.name if row.kind in ("function", "library") else function
    if inner is None:
        return
    row, function = inner
    yield plain(", most of that ")
    if row.kind == "line":
        yield plain(f"line {row.id.rpartition(':')[2]}", row.id)
        yield plain(" of ")
        yield code(function)
    else:
        yield code(row.name)


def read_line(report: Report, id: str) -> str:
    """The text of a source line."""
    source, number = split_line(id)
    found = next((row for row in report.sources if row.id == source), None)
    if found is None:
        return ""
    lines = (text_of(report, found.text) or "").split("\n")
    at = number - found.first_line
    return lines[at].strip() if 0 <= at < len(lines) else ""


def _call_of(text: str) -> str:
    """What a line computes: without what it is assigned to, or `return`."""
    try:
        statement = ast.parse(text).body[0]
    except (SyntaxError, IndexError):
        return text.removeprefix("return ")
    value = getattr(statement, "value", None)
    return text if not isinstance(value, ast.expr) else ast.get_source_segment(text, value) or text

"""The trees of cost as rows of the view: lines with what they call, and modules."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import PurePath

from workbench.analysis.calls.call_tree import list_call_rows
from workbench.analysis.calls.module_tree import CostRow, list_module_rows
from workbench.number_text import plural
from workbench.report import Report
from workbench.report.rows import MODULE_CLASSES, split_line
from workbench.views.wire.codec import shorten
from workbench.views.wire.overview_messages import TreeRow
from workbench.views.wire.report_messages import Source

_GLOBAL = re.compile(r"\b[GL]\['(\w+)'\]")  # how Dynamo names what a function reads
_RANGE = re.compile(r"(\d+)[–,][^.]*")  # equal layers: 0–3, or 0, 2–4
_EXCEPTIONS = ("break", "fallback")  # states of lines that stay in sight


def list_tree_rows(
    report: Report, sources: Sequence[Source]
) -> tuple[list[TreeRow], list[TreeRow]]:
    """The rows of the lines and of the modules; `sources` are the functions with their marks.

    The modules are none where the record names none.
    """
    root = list_module_rows(report)
    classes = _Classes(report)
    modules = list(_Modules(classes).rows(root, 0)) if root.parts else []
    return list(_Lines(report, sources, classes).rows()), modules


class _Classes:
    """The classes of modules, as the record names them."""

    def __init__(self, report: Report):
        self._by_path: Mapping[str, str] = report.extra.get(MODULE_CLASSES, {})

    def of(self, row: CostRow) -> str:
        """Of equal layers that of the first; empty where the record has none."""
        if row.kind != "module":
            return ""
        return self._by_path.get(_RANGE.sub(r"\1", row.id.removeprefix("M:")), "")


class _Modules:
    def __init__(self, classes: _Classes):
        self._classes = classes

    def rows(self, row: CostRow, depth: int) -> Iterator[TreeRow]:
        made = _row(row, depth, self._classes.of(row))
        if row.kernels or row.lines:
            made["kernels"], made["lines"] = list(row.kernels), list(row.lines)
        yield made
        for part in row.parts:
            yield from self.rows(part, depth + 1)


class _Lines:
    def __init__(self, report: Report, sources: Sequence[Source], classes: _Classes):
        self.report, self.classes = report, classes
        self.sources = {source["id"]: source for source in sources}
        self.has_costs = bool(len(report.kernels))

    def rows(self) -> Iterator[TreeRow]:
        """Those with a cost, then functions in which something went wrong, then the rest."""
        roots = list_call_rows(self.report)
        waiting, shown = list(roots), set()
        while waiting:
            row = waiting.pop()
            shown.add(row.id)
            waiting += row.parts
        for row in roots:
            if row.kind != "rest":
                yield from self._any(row, 0)
        names = {each.id: each.qualified or each.name for each in self.report.sources}
        for source in self.sources.values():
            lines = [CostRow("line", id, "", {}, {}) for id in self._told(source)]
            if lines and source["id"] not in shown:
                name = names[source["id"]]
                yield from self._function(CostRow("function", source["id"], name, {}, {}), lines, 0)
        yield from (_row(row, 0, "") for row in roots if row.kind == "rest")

    def _any(self, row: CostRow, depth: int) -> Iterator[TreeRow]:
        if row.kind == "function":
            yield from self._function(row, row.parts, depth)
        elif row.kind == "library":
            file, count = self.sources[row.id]["file"], plural(len(row.parts), "line")
            yield _row(row, depth, f"{_package(file)}, {count}")
            yield from self._parts(row, depth)
        else:
            yield from self._plain(row, depth)

    def _plain(self, row: CostRow, depth: int) -> Iterator[TreeRow]:
        called = [part.name for part in row.parts if part.kind in ("function", "library")]
        made = _row(row, depth, self.classes.of(row) or ", ".join(dict.fromkeys(called)))
        if len(row.parts) == 1 and row.parts[0].times > 1:
            made["times"], made["each"] = row.parts[0].times, _round_each(row.parts[0])
        yield made
        yield from self._parts(row, depth)

    def _parts(self, row: CostRow, depth: int) -> Iterator[TreeRow]:
        for part in row.parts:
            yield from self._any(part, depth + 1)

    def _function(self, row: CostRow, lines: Sequence[CostRow], depth: int) -> Iterator[TreeRow]:
        """The function, its lines in order, and what costs nothing between them folded."""
        source = self.sources[row.id]
        place = f"{PurePath(source['file']).name}:{source['first']}"
        yield _row(row, depth, f"{row.module}, {place}" if row.module else place)
        told = [CostRow("line", id, "", {}, {}) for id in self._told(source)]
        shown = {split_line(line.id)[1]: line for line in (*told, *lines)}
        body = _list_body(source)  # and what is above it, such as a default value, or a kernel
        numbers_of = [*sorted(number for number in shown if number not in body), *body]
        for is_shown, numbers in groupby(numbers_of, key=lambda n: n in shown):
            if is_shown:
                for number in numbers:
                    yield from self._plain(shown[number], depth + 1)
            else:
                yield from _fold(source, list(numbers), depth + 1)

    def _told(self, source: Source) -> list[str]:
        """The lines that something is said about, whatever they cost."""
        told = []
        for mark in source["marks"]:
            is_exception = mark["notes"] or mark["state"] in _EXCEPTIONS
            if is_exception or (not self.has_costs and mark["state"] != "plain"):
                told.append(mark["id"])
        return told


def _row(row: CostRow, depth: int, caption: str) -> TreeRow:
    made: TreeRow = {
        "depth": depth,
        "kind": row.kind,
        "id": row.id,
        "name": _GLOBAL.sub(r"\1", row.name),
        "caption": caption,
        "total": _shorten(row.total),
        "own": _shorten(row.own),
    }
    if row.times > 1:
        made["times"], made["each"] = row.times, _round_each(row)
    return made


def _shorten(costs: Mapping[str, float]) -> dict[str, float]:
    return {kind: shorten(amount) for kind, amount in costs.items()}


def _round_each(row: CostRow) -> dict[str, tuple[float, float]]:
    both = row.each.items()
    return {kind: (shorten(low), shorten(high)) for kind, (low, high) in both}


def _fold(source: Source, numbers: Sequence[int], depth: int) -> Iterator[TreeRow]:
    """One row for lines that cost nothing, or the only one; none where they are empty."""
    texts = [n for n in numbers if source["lines"][n - source["first"]].strip()]
    if len(texts) == 1:
        yield _row(CostRow("line", f"L:{source['id']}:{texts[0]}", "", {}, {}), depth, "")
    elif texts:
        yield {
            "depth": depth,
            "kind": "fold",
            "id": f"L:{source['id']}:{numbers[0]}",
            "name": "",
            "caption": "",
            "total": {},
            "own": {},
            "last": numbers[-1],
            "count": len(texts),
        }


def _list_body(source: Source) -> range:
    """The numbers of the lines below the head of a function and its docstring."""
    first, lines = source["first"], source["lines"]
    whole = range(first, first + len(lines))
    try:
        (function, *rest) = ast.parse(textwrap.dedent("\n".join(lines))).body
    except (SyntaxError, ValueError):  # a piece of code, or no text
        return whole
    if rest or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return whole
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return range(first + body[0].lineno - 1, first + len(lines)) if body else range(0)


def _package(file: str) -> str:
    """What a library's file belongs to: `transformers`, `python`."""
    parts = PurePath(file).parts
    return parts[1] if len(parts) > 1 and parts[0] == "site-packages" else parts[0]

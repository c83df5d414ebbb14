"""The user's lines with what they cost and what they call, from the outermost function inwards.

Library code is one row for each function, and equal layers are one: see `CostRow`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from workbench.analysis.calls.call_shares import list_call_shares
from workbench.analysis.calls.module_tree import (
    CostRow,
    Layers,
    Path,
    Placed,
    group_modules,
    join_path,
    list_modules,
    split_path,
    sum_costs,
)
from workbench.report import Report, Source
from workbench.report.rows import split_line


def list_call_rows(report: Report) -> tuple[CostRow, ...]:
    """The outermost functions with all below them; then what belongs to no line, as one row."""
    return report.once(_list_rows)


def _list_rows(report: Report) -> tuple[CostRow, ...]:
    known = {source.id for source in report.sources}
    shares = [
        replace(share, lines=tuple(line for line in share.lines if split_line(line)[0] in known))
        for share in list_call_shares(report)
    ]
    placed = [Placed(share, split_path(share.module)) for share in shares if share.lines]
    rows = sorted(_Tree(report).functions(placed, 0, ""), key=lambda row: row.kind == "library")
    rest = sum_costs(share for share in shares if not share.lines)
    if not any(rest.values()):
        return tuple(rows)
    return (*rows, CostRow("rest", "", "not of a line", rest, rest))


class _Tree:
    def __init__(self, report: Report):
        self.report = report
        self.sources = {source.id: source for source in report.sources}

    def functions(self, placed: Sequence[Placed], level: int, above: str) -> Iterator[CostRow]:
        """The functions at one level of the chains; `above` is the module of their caller."""
        by_source: dict[str, list[Placed]] = defaultdict(list)
        for each in placed:
            by_source[split_line(each.share.lines[level])[0]].append(each)
        for id, own in by_source.items():
            source = self.sources[id]
            if source.kind == "library":
                yield self._library(source, own, level)
                continue
            for found in self._instances(source, own, level, above):
                yield self._function(source, found, level, above)

    def _instances(
        self, source: Source, own: Sequence[Placed], level: int, above: str
    ) -> Iterator[Layers]:
        """The modules whose `forward` it is; a function that is of no module is one."""
        known = [each for each in own if each.path]
        if level == 0 or source.name != "forward" or not known:
            yield Layers("", {None: own})
            return
        groups = []
        for found in group_modules(self.report, known, above):
            inner = [each.path for each in found.shares if len(each.share.lines) == level + 1]
            groups.append(_below(found, _find_own(inner or [each.path for each in found.shares])))
        loose = tuple(each for each in own if not each.path)
        if len(groups) == 1:
            yield replace(groups[0], loose=loose)
            return
        yield from groups
        if loose:
            yield Layers("", {None: loose})

    def _function(self, source: Source, found: Layers, level: int, above: str) -> CostRow:
        module = join_path(above, found.name)
        lines = tuple(self._lines(found.shares, level, module, is_own=True))
        shares = [each.share for each in found.shares]
        return CostRow(
            "function",
            source.id,
            source.qualified or source.name,
            sum_costs(shares),
            _sum_own(lines),
            lines,
            found.name,
            found.times,
            found.each,
        )

    def _library(self, source: Source, own: Sequence[Placed], level: int) -> CostRow:
        """A function of a library: all its runs, with the lines that cost."""
        lines = tuple(self._lines(own, level, "", is_own=False))
        total, name = sum_costs(placed.share for placed in own), source.qualified or source.name
        return CostRow("library", source.id, name, total, _sum_own(lines), lines)

    def _lines(
        self, placed: Sequence[Placed], level: int, module: str, *, is_own: bool
    ) -> Iterator[CostRow]:
        by_line: dict[str, list[Placed]] = defaultdict(list)
        for each in placed:
            by_line[each.share.lines[level]].append(each)
        for line, own in sorted(by_line.items(), key=lambda item: split_line(item[0])[1]):
            yield self._line(line, own, level, module, is_own=is_own)

    def _line(
        self, line: str, placed: Sequence[Placed], level: int, module: str, *, is_own: bool
    ) -> CostRow:
        """A line: what it calls, then the modules of libraries that it runs."""
        here = [each for each in placed if len(each.share.lines) == level + 1]
        deeper = [each for each in placed if len(each.share.lines) > level + 1]
        called = tuple(self.functions(deeper, level + 1, module))
        modules = tuple(list_modules(self.report, here, module)) if is_own else ()
        is_all_one = len(modules) == 1 and not called and all(each.path for each in here)
        if is_all_one and not modules[0].parts and modules[0].times == 1:
            modules = ()  # the line itself says what it runs
        own = sum_costs(each.share for each in here if not (modules and each.path))
        total = sum_costs(each.share for each in placed)
        own = {kind: own.get(kind, 0.0) for kind in total}
        return CostRow("line", line, "", total, own, (*called, *modules))


def _below(found: Layers, inner: Path) -> Layers:
    """The same seen from a module further inside, whose path is `inner`."""
    if not inner:
        return found
    return Layers(
        join_path(found.name, *inner),
        {
            number: [Placed(each.share, each.path[len(inner) :]) for each in own]
            for number, own in found.by_number.items()
        },
    )


def _find_own(paths: Sequence[Path]) -> Path:
    """The path that all begin with, and that one of them has or that leads to several."""
    shortest = min(paths, key=len)
    common = shortest
    while any(path[: len(common)] != common for path in paths):
        common = common[:-1]
    is_leaf = len(set(paths)) == 1
    return common[:-1] if is_leaf else common


def _sum_own(lines: Sequence[CostRow]) -> dict[str, float]:
    own: dict[str, float] = defaultdict(float)
    for line in lines:
        for kind, amount in line.own.items():
            own[kind] += amount
    return dict(own)

"""The user's lines with what they cost and what they call, from the outermost function inwards.

Library code is one row for each function, and equal layers are one: see `CostRow`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from workbench.analysis.cost.costs import list_all_costs
from workbench.analysis.cost.line_shares import find_computed, list_line_ids, list_places
from workbench.analysis.fusion.traffic import NodeFacts, select_nodes
from workbench.analysis.layers.layers import format_numbers, read_layer_signatures
from workbench.analysis.memory.memory import list_made_at_peak, memory
from workbench.report import Kernel, Report, Source
from workbench.report.rows import split_line


def list_call_rows(report: Report) -> tuple[CostRow, ...]:
    """The outermost functions with all below them; then what belongs to no line, as one row."""
    return report.once(_list_rows)


def _list_rows(report: Report) -> tuple[CostRow, ...]:
    ids = {source.id for source in report.sources}
    shares = [
        replace(share, lines=tuple(line for line in share.lines if split_line(line)[0] in ids))
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
        for entry in placed:
            by_source[split_line(entry.share.lines[level])[0]].append(entry)
        for id, own in by_source.items():
            source = self.sources[id]
            if source.kind == "library":
                yield self._library(source, own, level)
                continue
            for layers in self._instances(source, own, level, above):
                yield self._function(source, layers, level, above)

    def _instances(
        self, source: Source, own: Sequence[Placed], level: int, above: str
    ) -> Iterator[Layers]:
        """The modules whose `forward` it is; a function that is of no module is one."""
        in_modules = [entry for entry in own if entry.path]
        if level == 0 or source.name != "forward" or not in_modules:
            yield Layers("", {None: own})
            return
        groups = []
        for layers in group_modules(self.report, in_modules, above):
            inner = [entry.path for entry in layers.shares if len(entry.share.lines) == level + 1]
            groups.append(
                _below(layers, _find_own(inner or [entry.path for entry in layers.shares]))
            )
        loose = tuple(entry for entry in own if not entry.path)
        if len(groups) == 1:
            yield replace(groups[0], loose=loose)
            return
        yield from groups
        if loose:
            yield Layers("", {None: loose})

    def _function(self, source: Source, layers: Layers, level: int, above: str) -> CostRow:
        module = join_path(above, layers.name)
        lines = tuple(self._lines(layers.shares, level, module, is_own=True))
        shares = [entry.share for entry in layers.shares]
        return CostRow(
            "function",
            source.id,
            source.qualified or source.name,
            sum_costs(shares),
            _sum_own(lines),
            lines,
            layers.name,
            layers.times,
            layers.each,
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
        for entry in placed:
            by_line[entry.share.lines[level]].append(entry)
        for line, own in sorted(by_line.items(), key=lambda item: split_line(item[0])[1]):
            yield self._line(line, own, level, module, is_own=is_own)

    def _line(
        self, line: str, placed: Sequence[Placed], level: int, module: str, *, is_own: bool
    ) -> CostRow:
        """A line: what it calls, then the modules of libraries that it runs."""
        here = [entry for entry in placed if len(entry.share.lines) == level + 1]
        deeper = [entry for entry in placed if len(entry.share.lines) > level + 1]
        called = tuple(self.functions(deeper, level + 1, module))
        modules = tuple(list_modules(self.report, here, module)) if is_own else ()
        is_all_one = len(modules) == 1 and not called and all(entry.path for entry in here)
        if is_all_one and not modules[0].parts and modules[0].times == 1:
            modules = ()  # the line itself says what it runs
        own = sum_costs(entry.share for entry in here if not (modules and entry.path))
        total = sum_costs(entry.share for entry in placed)
        own = {kind: own.get(kind, 0.0) for kind in total}
        return CostRow("line", line, "", total, own, (*called, *modules))


def _below(layers: Layers, inner: Path) -> Layers:
    """The same seen from a module further inside, whose path is `inner`."""
    if not inner:
        return layers
    return Layers(
        join_path(layers.name, *inner),
        {
            number: [Placed(entry.share, entry.path[len(inner) :]) for entry in own]
            for number, own in layers.by_number.items()
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


RowKind = Literal["function", "library", "line", "module", "rest"]
Costs = Mapping[str, float]
Path = tuple[str, ...]
_EQUAL = re.compile(r"(\d+)[–,][^.]*")  # the numbers of equal layers, of which the first does
_SEGMENT = re.compile(r"[^.\[]+(?:\[[^\]]*\])*|\[[^\]]*\]")


@dataclass(frozen=True)
class CostRow:
    """A row of a tree of costs: what it is, what it costs with its parts and without them.

    `id` is that of a source, of a line, or `M:` and the path of a module; `name` what it is called,
    `module` where a function runs. A row stands for `times` equal layers; `each` has by cost the
    least and the most of one of them. `total` and `own` are by cost; a function has no cost of its
    own but that of its lines: its `own` is theirs, and its `total` that of its `parts`.
    """

    kind: RowKind
    id: str
    name: str
    total: Costs
    own: Costs
    parts: tuple[CostRow, ...] = ()
    module: str = ""
    times: int = 1
    each: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    kernels: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placed:
    """A share with what is left of its module's path below the module that it is seen from."""

    share: CallShare
    path: Path


@dataclass(frozen=True)
class Layers:
    """Modules that do the same: `name` stands for all of them, `by_number` has their shares.

    `loose` are shares that surely are theirs, of nobody knows which of them.
    """

    name: str
    by_number: Mapping[int | None, Sequence[Placed]]
    loose: tuple[Placed, ...] = ()

    @property
    def shares(self) -> list[Placed]:
        """Those of all of them."""
        return [*(placed for own in self.by_number.values() for placed in own), *self.loose]

    @property
    def times(self) -> int:
        """How many there are."""
        return len(self.by_number)

    @property
    def each(self) -> dict[str, tuple[float, float]]:
        """By cost the least and the most of one; empty for one alone."""
        if self.times == 1:
            return {}
        sums = [sum_costs(placed.share for placed in own) for own in self.by_number.values()]
        kinds = {kind for costs in sums for kind in costs}
        ranges = {kind: [costs.get(kind, 0.0) for costs in sums] for kind in kinds}
        return {kind: (min(values), max(values)) for kind, values in ranges.items()}


def list_module_rows(report: Report) -> CostRow:
    """The tree of the modules; its root is the call with all that belongs to no module."""
    shares = list_call_shares(report)
    parts = tuple(list_modules(report, [Placed(s, split_path(s.module)) for s in shares], ""))
    total, own = sum_costs(shares), sum_costs(share for share in shares if not share.module)
    own = {kind: own.get(kind, 0.0) for kind in total}
    return CostRow("module", "M:", report.request.name or "the call", total, own, parts)


def list_modules(report: Report, placed: Sequence[Placed], above: str) -> Iterator[CostRow]:
    """The modules right below the one with the path `above`, in the order of the program."""
    for layers in group_modules(report, [entry for entry in placed if entry.path], above):
        yield _module(report, layers, above)


def _module(report: Report, layers: Layers, above: str) -> CostRow:
    shares, path = layers.shares, join_path(above, layers.name)
    parts = tuple(list_modules(report, shares, path))
    own = sum_costs(entry.share for entry in shares if not entry.path)
    if len(parts) == 1 and layers.times == 1 and all(entry.path for entry in shares):
        (only,) = parts  # a container that does nothing itself
        return CostRow(**{**vars(only), "name": join_path(layers.name, only.name)})
    everything = [entry.share for entry in shares]
    total = sum_costs(everything)
    kernels = dict.fromkeys(kernel for share in everything for kernel in share.kernels)
    lines = dict.fromkeys(share.lines[-1] for share in everything if share.lines)
    return CostRow(
        "module",
        f"M:{path}",
        layers.name,
        total,
        {kind: own.get(kind, 0.0) for kind in total},
        parts,
        path,
        layers.times,
        layers.each,
        tuple(kernels),
        tuple(lines),
    )


def group_modules(report: Report, placed: Sequence[Placed], above: str) -> Iterator[Layers]:
    """The modules that the paths begin with; those of a list that do the same are one."""
    lists: dict[str, dict[int | None, list[Placed]]] = defaultdict(lambda: defaultdict(list))
    for entry in placed:
        name, number, rest = _head(entry.path)
        lists[name][number].append(Placed(entry.share, rest))
    signatures = report.once(read_layer_signatures)
    for name, by_number in lists.items():
        path = join_path(above, name)
        alike: dict[object, dict[int | None, list[Placed]]] = defaultdict(dict)
        for number, own in by_number.items():
            first = _EQUAL.sub(r"\1", path)
            does: object = None if number is None else signatures.get((first, number))
            if number is not None and not does:
                does = frozenset((entry.share.lines, entry.path) for entry in own)
            alike[does][number] = own
        for group in alike.values():
            numbers = sorted(number for number in group if number is not None)
            yield Layers(join_path(name, format_numbers(numbers)) if numbers else name, group)


def _head(path: Path) -> tuple[str, int | None, Path]:
    """The first module of a path, its number where it is one of a list, the rest."""
    if path[0].isdecimal():
        return "", int(path[0]), path[1:]
    if len(path) > 1 and path[1].isdecimal():
        return path[0], int(path[1]), path[2:]
    return path[0], None, path[1:]


@lru_cache(maxsize=4096)
def split_path(module: str) -> Path:
    """The segments of a module's path; what is in brackets stays with what is before it."""
    return tuple(_SEGMENT.findall(module))


def join_path(*parts: str) -> str:
    """Paths as one."""
    return ".".join(part for part in parts if part)


def sum_costs(shares: Iterable[CallShare]) -> dict[str, float]:
    """What shares cost together, by kind."""
    total: dict[str, float] = defaultdict(float)
    for share in shares:
        for kind, amount in share.costs.items():
            total[kind] += amount
    return dict(total)


Chain = tuple[tuple[str, ...], str]
"""Line ids from the outermost call to the own line, and the module's path; both may be empty."""


@dataclass
class CallShare:
    """What the operations of one line cost that were called in one way, in one module.

    `lines` lead from the outermost call to the own line, as ids; without any it is what belongs to
    no line. `module` is the path of the innermost module, "" for none. `costs` are those that are
    known, by kind, as in `Cost`: their sums are those of the kernels.
    """

    lines: tuple[str, ...]
    module: str
    costs: dict[str, float] = field(default_factory=dict)
    kernels: dict[str, None] = field(default_factory=dict)

    def add(self, kind: str, amount: float) -> None:
        """Add a part of a cost."""
        self.costs[kind] = self.costs.get(kind, 0.0) + amount


def list_call_shares(report: Report) -> tuple[CallShare, ...]:
    """The shares of all kernels, in the order of the program.

    A kernel is shared among what it computes that has a line, in proportion to sizes, as for lines;
    without such nodes it is that of `list_places`, without lines it is shared among the modules of
    its nodes, and without these it is a share of none. Where nothing was generated they are those
    of the captured operations, without costs.
    """
    return report.once(_list_shares)


def _list_shares(report: Report) -> tuple[CallShare, ...]:
    by_chain: dict[Chain, CallShare] = {}
    if not len(report.kernels):
        captured = select_captured(report)
        chains = list(_chains(captured, list_line_ids(report))) or list(_modules(captured))
        for chain, _ in chains:
            by_chain.setdefault(chain, CallShare(*chain))
        return tuple(by_chain.values())
    amounts = {cost.kind: cost.by_kernel for cost in list_all_costs(report)}
    has_memory = amounts.pop("memory", None) is not None
    for kernel, parts in part_kernels(report):
        total = sum(parts.values())
        for chain, weight in parts.items():
            share = by_chain.setdefault(chain, CallShare(*chain))
            share.kernels[kernel.id] = None
            for kind, by_kernel in amounts.items():
                if kernel.id in by_kernel:
                    share.add(kind, by_kernel[kernel.id] * weight / total)
    if has_memory:
        _add_memory(report, by_chain)
    return tuple(by_chain.values())


def select_captured(report: Report) -> list[NodeFacts]:
    """The operations of the graphs that Dynamo captured."""
    graphs = {graph.id for graph in report.graphs if graph.stage == "dynamo"}
    nodes = select_nodes(report, "graph", graphs).values()
    return [node for node in nodes if node.op.startswith("call_")]


def part_kernels(report: Report) -> Iterator[tuple[Kernel, Mapping[Chain, float]]]:
    """Every kernel with the weights of the chains that it came from; none is without."""
    computed, ids = find_computed(report), list_line_ids(report)
    there = set(ids.values())
    by_line: dict[str, Chain] = {}
    waiting: list[Kernel] = []
    for kernel in report.kernels:
        weights: dict[Chain, float] = defaultdict(float)
        for chain, size in _chains(computed[kernel.id], ids):
            weights[chain] += size
            by_line.setdefault(chain[0][-1], chain)
        if weights:
            yield kernel, weights
        else:
            waiting.append(kernel)
    for kernel in waiting:
        places = list_places(report, kernel.lines) or kernel.called_from[:1]
        lines = [line for line in places if line in there]
        chains = [by_line.get(line, ((line,), "")) for line in lines]
        by_module: dict[Chain, float] = defaultdict(float)
        for chain, size in _modules(computed[kernel.id]):
            by_module[chain] += size
        yield kernel, dict.fromkeys(chains, 1.0) or by_module or {((), ""): 1.0}


def _chains(
    nodes: Iterable[NodeFacts], ids: Mapping[tuple[str, int], str]
) -> Iterator[tuple[Chain, float]]:
    """The chain of each node whose line is known, with its size."""
    for node in nodes:
        line = None if node.file is None else ids.get((node.file, node.line or 0))
        if line is not None:
            there = [site for site in node.called_from if site != line and split_line(site)[1]]
            outer = tuple(reversed(there))
            yield ((*outer, line), node.module_path or ""), float(node.bytes or 1)


def _modules(nodes: Iterable[NodeFacts]) -> Iterator[tuple[Chain, float]]:
    """The chain of each node that a module called, with its size: torch's own have no lines."""
    for node in nodes:
        if node.module_path:
            yield ((), node.module_path), float(node.bytes or 1)


def _add_memory(report: Report, by_chain: dict[Chain, CallShare]) -> None:
    """What each chain has made of what lives at the peak."""
    rows = [row for row in list_made_at_peak(memory(report)) if row.bytes]
    nodes = select_nodes(report, "id", {row.node for row in rows if row.node is not None})
    ids = list_line_ids(report)
    for row in rows:
        own = nodes.get(row.node or "")
        producers = [own] if own else []
        chain = next(
            (chain for chain, _ in (*_chains(producers, ids), *_modules(producers))), ((), "")
        )
        by_chain.setdefault(chain, CallShare(*chain)).add("memory", row.bytes)

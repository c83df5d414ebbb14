"""Which kernels each source line ends in, and its part of what those cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.analysis.fusion.traffic import (
    NodeFacts,
    is_view,
    select_nodes,
    strip_operator_name,
)
from workbench.report import Report
from workbench.report.rows import split_line


@dataclass(frozen=True)
class LineShares:
    """By line id the kernels that it ends in, in order; by kernel the parts of its lines.

    A kernel is shared among the lines of what it computes in proportion to sizes; where nothing of
    it has a line, it counts where `list_places` says. A line that calls a function has the share of
    what was traced in it, too.
    """

    kernels: Mapping[str, tuple[str, ...]]
    shares: Mapping[str, Mapping[str, float]]

    @classmethod
    def of(cls, report: Report) -> LineShares:
        """Those of a report."""
        computed = find_computed(report)
        ids = list_line_ids(report)
        kernels: dict[str, list[str]] = defaultdict(list)
        shares: dict[str, Mapping[str, float]] = {}
        for kernel in report.kernels:
            places = list_places(report, kernel.lines)
            shares[kernel.id] = _shares(places, computed[kernel.id], ids)
            for line in dict.fromkeys([*shares[kernel.id], *kernel.lines, *kernel.called_from]):
                kernels[line].append(kernel.id)
        return cls({line: tuple(ids) for line, ids in kernels.items()}, shares)

    def spread(self, amounts: Mapping[str, float]) -> dict[str, float]:
        """By line id its share (an estimate) of amounts that are given by kernel."""
        by_line: dict[str, float] = {}
        for line, kernels in self.kernels.items():
            counted = [id for id in kernels if id in amounts and line in self.shares[id]]
            if counted:
                by_line[line] = sum(amounts[id] * self.shares[id][line] for id in counted)
        return by_line


def _shares(
    places: Sequence[str], computed: Iterable[NodeFacts], ids: Mapping[tuple[str, int], str]
) -> dict[str, float]:
    weights: dict[str, float] = defaultdict(float)
    total = 0.0
    for node in computed:
        if node.file is None or node.line is None:
            continue
        line = ids.get((node.file, node.line))
        if line is None:
            continue
        total += node.bytes or 1
        for place in dict.fromkeys((line, *node.called_from)):
            weights[place] += node.bytes or 1
    if not weights:
        weights, total = dict.fromkeys(places, 1.0), float(len(places))
    return {line: weight / total for line, weight in weights.items()}


def list_places(report: Report, lines: Sequence[str]) -> Sequence[str]:
    """Where a kernel counts of which nothing says what its lines cost: whole, at no one of several.

    That is its only line, or the line `def …` of the function that its lines are in.
    """
    if len(lines) < 2:
        return lines
    sources = {source.id: source for source in report.sources}
    heads: dict[str, None] = {}
    for id in dict.fromkeys(split_line(line)[0] for line in lines):
        source = sources.get(id)
        if source is not None:
            text = report.texts.get(source.text or "", "").split("\n")
            heads[f"L:{id}:{source.first_line + find_head(text)}"] = None
    return [*heads]


def find_head(lines: Sequence[str]) -> int:
    """The place of the line `def …` among the lines of a function, whose decorators come before."""
    heads = (n for n, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def ")))
    return next(heads, 0)


def find_computed(report: Report) -> Mapping[str, Sequence[NodeFacts]]:
    """By kernel the operations that it computes, in its own order.

    Inductor names with a library call, and with each part of a concatenation, also what went into
    the others: what another kernel has made is not computed again, nor is what a kernel would need
    values for that it does not read, nor a view. All of its nodes where nothing else is there, such
    as in a copy of a view.
    """
    return report.once(_find_computed)


def _find_computed(report: Report) -> dict[str, list[NodeFacts]]:
    inside = {id for nodes in report.kernels.columns.get("nodes", ()) for id in nodes}
    nodes = select_nodes(report, "graph", {id.partition(":")[0] for id in inside})
    held = {buffer.node for buffer in report.buffers if buffer.node is not None}
    moved = _find_moved(report)
    place = {id: at for at, id in enumerate(nodes)}
    computed = {}
    for kernel in report.kernels:
        own = {id: nodes[id] for id in kernel.nodes if id in nodes}
        if kernel.id in moved:
            ordered = {id: own[id] for id in sorted(own, key=place.__getitem__)}
            reached = _Reach(ordered, nodes, moved[kernel.id], held).list_computed()
            own = {id: node for id, node in own.items() if id in reached} or own
        own_nodes = [node for node in own.values() if not _is_shown(node, nodes)]
        computed[kernel.id] = own_nodes or list(own.values())
    return computed


@dataclass(frozen=True)
class _Moved:
    """Nodes whose values, or parts of them, a kernel reads, and those whose values it writes."""

    given: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)


def _find_moved(report: Report) -> dict[str, _Moved]:
    origins = {row.id: row.origins for row in report.scheduler_nodes if row.phase == "before"}
    makers: dict[str, set[str]] = defaultdict(set)
    for kernel in report.kernels:
        for node in kernel.scheduler_nodes:
            makers[node].add(kernel.id)
    ran = set(makers)
    for buffer in report.buffers:  # a concatenation runs nothing: who writes its parts makes it
        for node in set(buffer.read_by) - ran:
            makers[node].update(*(makers[writer] for writer in buffer.written_by))
    moved: dict[str, _Moved] = defaultdict(_Moved)
    for buffer in report.buffers:
        held = {buffer.node} if buffer.node is not None else set()
        parts = {id for node in buffer.written_by for id in origins.get(node, ())}
        writers = {id for node in buffer.written_by for id in makers[node]}
        readers = {id for node in ran.intersection(buffer.read_by) for id in makers[node]}
        for id in writers:
            moved[id].written.update(held)
        for id in readers - writers:
            moved[id].given.update(held or parts)
    return moved


@dataclass(frozen=True)
class _Reach:
    """What of a kernel's nodes, in the order of the graph, its results are computed from in it."""

    own: Mapping[str, NodeFacts]
    nodes: Mapping[str, NodeFacts]
    moved: _Moved
    held: Collection[str]

    def list_computed(self) -> set[str]:
        """From the results inwards, up to what is given, without what cannot be made here."""
        given, closed = self.moved.given, self.moved.given | self._list_missing()
        used = {source for node in self.own.values() for source in _sources(node, self.nodes)}
        waiting = [id for id in self.own if id in self.moved.written or id not in used]
        reached = set(waiting)
        while waiting:
            id = waiting.pop()
            if id in given:  # begun by another kernel, which has read what it is made of
                continue
            for source in _sources(self.own[id], self.nodes):
                if source in self.own and source not in closed and source not in reached:
                    reached.add(source)
                    waiting.append(source)
        return reached

    def _list_missing(self) -> set[str]:
        """Those that need the value of a buffer that the kernel does not read."""
        missing: set[str] = set()
        here = self.moved.given | self.moved.written
        for id, node in self.own.items():
            waiting, visited = list(node.inputs), set(node.inputs)
            if id in self.held and id not in self.moved.written:
                missing.add(id)
            while waiting and id not in missing:
                source = waiting.pop()
                if source in here or source not in self.nodes:
                    continue
                if source in missing or self._is_elsewhere(source):
                    missing.add(id)
                elif source not in self.own:
                    more = [other for other in self.nodes[source].inputs if other not in visited]
                    visited.update(more)
                    waiting += more
        return missing

    def _is_elsewhere(self, id: str) -> bool:
        node = self.nodes[id]
        is_number = node.dtype is None and node.bytes is None and node.op != "placeholder"
        return id in self.held and not is_number


def _sources(node: NodeFacts, nodes: Mapping[str, NodeFacts]) -> Iterator[str]:
    """What a node reads; for a part of a tuple also the operation that gave the tuple."""
    for id in node.inputs:
        yield id
        if id in nodes and strip_operator_name(nodes[id].target) == "getitem":
            yield from nodes[id].inputs[:1]


def _is_shown(node: NodeFacts, nodes: Mapping[str, NodeFacts]) -> bool:
    if strip_operator_name(node.target) != "getitem":
        return is_view(node)
    source = nodes.get(node.inputs[0]) if node.inputs else None
    return source is None or is_view(source)  # else it is one of several results


def list_line_ids(report: Report) -> dict[tuple[str, int], str]:
    """By file and number: the id of every line of a source with a text, in the innermost of them.

    A script whose own lines run, as a hook of it does, is a source around its functions.
    """
    spans = [
        (source, _lines_of(report, source.first_line, source.text)) for source in report.sources
    ]
    return {
        (source.file, line): f"L:{source.id}:{line}"
        for source, lines in sorted(spans, key=lambda span: (span[1].start, -span[1].stop))
        for line in lines
    }


def _lines_of(report: Report, first: int, text: str | None) -> range:
    count = report.texts[text].count("\n") + 1 if text is not None and text in report.texts else 0
    return range(first, first + count)

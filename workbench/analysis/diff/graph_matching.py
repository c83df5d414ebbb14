"""Graphs compared by structure and shapes: which node of one is which node of the other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from workbench.analysis.diff.align import align_by
from workbench.analysis.diff.difference import Change
from workbench.analysis.diff.graphview import CAPTURED, GraphView, Viewer, is_symbolic
from workbench.report import Graph, Report

LOWERED = "after_post_grad"
SHOWN = (CAPTURED, LOWERED)
"""The stages whose nodes are listed: what was captured, and what became kernels."""


@dataclass(frozen=True)
class GraphPair:
    """Two graphs of one stage, and the nodes of `a` that are nodes of `b`, by index."""

    a: GraphView
    b: GraphView
    nodes: dict[int, int]

    def ids(self) -> Iterator[tuple[str, str]]:
        """The ids of nodes that are the same."""
        return ((self.a.ids[i], self.b.ids[j]) for i, j in self.nodes.items())


@dataclass
class Graphs:
    """What comparing the graphs has found; `only_a`, `only_b` are graphs without a partner."""

    pairs: list[GraphPair] = field(default_factory=list)
    only_a: list[Graph] = field(default_factory=list)
    only_b: list[Graph] = field(default_factory=list)

    def partners(self, stage: str = LOWERED) -> dict[str, str]:
        """By id of a node of `a` of the graphs of a stage: that of `b`."""
        return {i: j for pair in self.pairs if pair.a.graph.stage == stage for i, j in pair.ids()}


def match_graphs(a: Report, b: Report) -> Graphs:
    """Pair the graphs by stage and direction, and their nodes by what they compute."""
    left, right = Viewer(a), Viewer(b)
    graphs = Graphs()
    sides = defaultdict[tuple[str, bool], tuple[list[Graph], list[Graph]]](lambda: ([], []))
    for side, report in enumerate((a, b)):
        for graph in report.graphs:
            sides[graph.stage, graph.is_backward][side].append(graph)
    for ones, others in sides.values():
        own = [left.view(graph) for graph in ones], [right.view(graph) for graph in others]
        paired = _paired(*own)
        graphs.pairs += [GraphPair(own[0][i], own[1][j], {}) for i, j in paired]
        graphs.only_a += [g for i, g in enumerate(ones) if i not in dict(paired)]
        graphs.only_b += [g for j, g in enumerate(others) if j not in dict(paired).values()]
    for pair in graphs.pairs:
        pair.nodes.update(match_nodes(pair.a, pair.b))
    return graphs


def _paired(a: Sequence[GraphView], b: Sequence[GraphView]) -> list[tuple[int, int]]:
    """Graphs of one stage; of several those first that have most operations in common.

    Of such that are as alike, those first that both compute with sizes, or both do not.
    """
    if len(a) == len(b) == 1:
        return [(0, 0)]
    counts = [[_operations(graph) for graph in side] for side in (a, b)]

    def apart(i: int, j: int) -> tuple[float, bool, int]:
        x, y = counts[0][i], counts[1][j]
        alike = 2 * (x & y).total() / max(x.total() + y.total(), 1)
        return -alike, bool(a[i].scalars) != bool(b[j].scalars), abs(i - j)

    partners: dict[int, int] = {}
    pairs = sorted(product(range(len(a)), range(len(b))), key=lambda pair: (apart(*pair), pair))
    for i, j in pairs:
        if i not in partners and j not in partners.values():
            partners[i] = j
    return sorted(partners.items())


def _operations(graph: GraphView) -> Counter[tuple[str, str]]:
    """What a graph does with tensors, without its inputs: these include the sizes."""
    own = (n for n in graph.tensors if graph.ops[n] not in ("placeholder", "output"))
    return Counter((graph.ops[n], graph.targets[n]) for n in own)


def match_nodes(a: GraphView, b: GraphView) -> dict[int, int]:
    """Pairs of indexes: the tensors of the graphs first, then the sizes."""
    by_index: dict[int, int] = {}
    for own, other in ((a.tensors, b.tensors), (sorted(a.scalars), sorted(b.scalars))):
        labels = [
            [
                [
                    (side.ops[n], side.targets[n] if side.ops[n] != "placeholder" else "")
                    for n in part
                ]
                if depth is None
                else [whole[n] for n in part]
                for depth, whole in ((2, side.labels(2)), (0, side.labels(0)), (None, []))
            ]
            for side, part in ((a, own), (b, other))
        ]
        pairs = align_by(labels[0], labels[1])
        by_index.update((own[i], other[j]) for i, j in pairs.items())
    return dict(sorted(by_index.items()))


def compare_graphs(graphs: Graphs) -> Iterator[Change]:
    """A row for each graph that differs, with how many nodes do."""
    for pair in graphs.pairs:
        counts = Counter(change.change for change in compare_nodes(pair))
        item, sizes = _stage(pair.a.graph), (len(pair.a.ids), len(pair.b.ids))
        if counts:
            words = ", ".join(f"{count} {_COUNTED[name]}" for name, count in counts.items())
            ids = pair.a.graph.id, pair.b.graph.id
            yield Change("graphs", item, "changed", *sizes, "", words, *ids)
    for graph in graphs.only_a:
        yield Change("graphs", _stage(graph), "removed", graph.node_count, None, id_a=graph.id)
    for graph in graphs.only_b:
        yield Change("graphs", _stage(graph), "added", None, graph.node_count, id_b=graph.id)


_COUNTED = {
    "symbolic": "with symbolic sizes",
    "fixed": "with fixed sizes",
    "changed": "with a different shape, layout or dtype",
    "arguments": "written otherwise",
    "inputs": "with other inputs",
    "added": "added",
    "removed": "removed",
}


def _stage(graph: Graph) -> str:
    return f"{graph.stage} {'(backward)' if graph.is_backward else ''}".strip()


def compare_nodes(pair: GraphPair) -> Iterator[Change]:
    """Every node that differs, in the order of the graphs."""
    a, b = pair.a, pair.b
    matched = set(pair.nodes.values())
    fresh = [j for j in range(len(b.ids)) if j not in matched]
    for i in range(len(a.ids)):
        if i in pair.nodes:
            yield from _changed(pair, i, pair.nodes[i])
            continue
        note = _what(a, i, sizes=i in a.scalars)
        yield Change("nodes", a.names[i], "removed", _looks(a, i), note=note, id_a=a.ids[i])
    for j in fresh:
        note = _what(b, j, sizes=j in b.scalars)
        yield Change("nodes", b.names[j], "added", None, _looks(b, j), note=note, id_b=b.ids[j])


def _changed(pair: GraphPair, i: int, j: int) -> Iterator[Change]:
    a, b = pair.a, pair.b

    def row(kind: str, left: str | None, right: str | None) -> Change:
        return Change("nodes", a.names[i], kind, left, right, "", _what(a, i), a.ids[i], b.ids[j])

    has_same_shape = _same(pair, a.shapes[i], b.shapes[j])
    is_same_type = (a.dtypes[i], a.devices[i]) == (b.dtypes[j], b.devices[j])
    was, now = is_symbolic(a.shapes[i]), is_symbolic(b.shapes[j])
    if not has_same_shape or not is_same_type:
        kind = "changed" if was == now or not is_same_type else "symbolic" if now else "fixed"
        yield row(kind, _looks(a, i), _looks(b, j))
    elif not _same(pair, a.strides[i], b.strides[j]):
        yield row(
            "changed", f"strides {_sizes(a, a.strides[i])}", f"strides {_sizes(b, b.strides[j])}"
        )
    feeding = [pair.nodes.get(p) for p in a.feeding[i]]
    is_known = feeding != b.feeding[j] and None not in feeding
    if is_known and sorted(map(str, feeding)) != sorted(map(str, b.feeding[j])):
        yield row("inputs", _fed(a, i), _fed(b, j))
    called = a.arguments.get(a.names[i]), b.arguments.get(b.names[j])
    is_asked = has_same_shape or _is_fed_alike(pair, i, j)
    if None not in called and called[0] != called[1] and was == now and is_asked:
        yield row("arguments", *called)


def _is_fed_alike(pair: GraphPair, i: int, j: int) -> bool:
    """Whether two nodes take values of the same shapes, so that their own call changed theirs."""
    a, b = pair.a, pair.b
    fed = a.feeding[i], b.feeding[j]
    return len(fed[0]) == len(fed[1]) > 0 and all(
        _same(pair, a.shapes[p], b.shapes[q]) for p, q in zip(*fed, strict=True)
    )


Sizes = Sequence[int | str] | None


def _same(pair: GraphPair, a: Sizes, b: Sizes) -> bool:
    """Whether sizes are equal; symbols count by their place in the graph."""
    if not is_symbolic(a) and not is_symbolic(b):
        return a == b
    return pair.a.comparable(a) == pair.b.comparable(b)


def _fed(view: GraphView, n: int) -> str:
    return ", ".join(view.names[place] for place in view.feeding[n])


def _what(view: GraphView, n: int, *, sizes: bool = False) -> str:
    if view.ops[n] in ("placeholder", "output"):
        what = "input" if view.ops[n] == "placeholder" else "output"
        known = view.known.get(n)
        what = f"{what} {known}" if known and known != view.names[n] else what
    else:
        what = view.targets[n]
    return f"{what} (a size)" if sizes else what


def _looks(view: GraphView, n: int) -> str | None:
    """The dtype and the sizes, as a row shows them."""
    if view.shapes[n] is None:
        known = view.known.get(n, view.targets[n])
        return view.symbols.get(known) if n in view.scalars else None
    device = view.devices[n]
    return f"{view.dtypes[n]} {_sizes(view, view.shapes[n])}{f' on {device}' if device else ''}"


def _sizes(view: GraphView, sizes: Sequence[int | str] | None) -> str:
    return f"[{', '.join(view.renamed(sizes) or ())}]"

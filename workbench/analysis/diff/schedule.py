"""What each kernel computes, as tokens that both compilations share: scheduler nodes, FX nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.analysis.diff.align import align_by
from workbench.analysis.diff.graph_matching import LOWERED, Graphs
from workbench.analysis.diff.graphview import CAPTURED
from workbench.analysis.diff.lineage import calls_operation, find_ancestors
from workbench.report import Report, SchedulerNode
from workbench.report.record import select_parts

_FREE = (
    "aten.view.",
    "aten.reshape.",
    "aten.permute.",
    "aten.expand.",
    "aten.squeeze.",
    "aten.unsqueeze.",
    "aten.slice.",
    "aten.select.",
    "aten.t.",
    "aten.transpose.",
    "operator.getitem",
    "prims.convert_element_type.",
    "aten.as_strided.",
)

_PLACED = ("id", "op", "file", "line", "module_path")


@dataclass(frozen=True)
class Tokens:
    """What a kernel computes: its scheduler nodes, its FX nodes without views, all FX nodes.

    A scheduler node belongs to one kernel, an FX node to each that computes it: `first` are those
    that no kernel before it computes. `captured` are the operations that were captured, before any
    was decomposed.
    """

    scheduled: frozenset[str]
    nodes: frozenset[str]
    whole: frozenset[str]
    first: frozenset[str]
    captured: frozenset[str]

    def alike(self, other: Tokens) -> float:
        """The share of both in common, from 0 to 1; 1 where nothing is known of either."""
        if not self.whole | other.whole | self.scheduled | other.scheduled:
            return 1.0
        pairs = ((self.scheduled, other.scheduled, 2.0), (self.nodes, other.nodes, 1.0))
        parts = [(_share(one, two), weight) for one, two, weight in pairs if one and two]
        if not parts:
            return _share(self.whole, other.whole)
        return sum(share * weight for share, weight in parts) / sum(weight for _, weight in parts)

    def shares(self, other: Tokens) -> bool:
        """Whether half of the smaller one lies in the other."""
        common = len(self.scheduled & other.scheduled)
        if common:
            return 2 * common >= min(len(self.scheduled), len(other.scheduled))
        if self.nodes or other.nodes:
            common = len(self.first & other.first)
            return common > 0 and 2 * common >= min(len(self.first), len(other.first))
        smaller = min(len(self.whole), len(other.whole))
        return smaller > 0 and 2 * len(self.whole & other.whole) >= smaller


def _share(one: frozenset[str], two: frozenset[str]) -> float:
    return len(one & two) / len(one | two) if one | two else 0.0


def tokens(a: Report, b: Report, graphs: Graphs) -> tuple[dict[str, Tokens], dict[str, Tokens]]:
    """By kernel id of either compilation: what it computes, the same thing under the same name."""
    nodes = {j: i for i, j in graphs.partners().items()}
    starts = {j: i for i, j in graphs.partners(CAPTURED).items()}
    steps = {j: i for i, j in match_steps(a, b, graphs, nodes).items()}
    return _tokens(a, {}, {}, {}, "a"), _tokens(b, nodes, steps, starts, "b")


def _tokens(
    report: Report,
    nodes: Mapping[str, str],
    steps: Mapping[str, str],
    starts: Mapping[str, str],
    side: str,
) -> dict[str, Tokens]:
    origins = _captured(report)
    inside = {id for ids in report.kernels.columns.get("nodes", ()) for id in ids}
    targets = dict(select_parts(report.nodes, "id", inside, ("id", "target")))
    free = {id for id, target in targets.items() if target.startswith(_FREE)}
    before = {n.id for n in report.scheduler_nodes if n.phase == "before"}

    def named(ids: Iterator[str], same: Mapping[str, str]) -> frozenset[str]:
        # what b has no partner for must not be taken for what a calls by that id
        return frozenset(same.get(id, id if side == "a" else f"b:{id}") for id in ids)

    calls = {  # those of a library call's nodes that are the call, as far as they can be told
        k.id: [id for id in k.nodes if calls_operation(k.name, targets.get(id, ""))]
        for k in report.kernels
        if k.language == "extern"
    }
    called = {id for ids in calls.values() for id in ids}
    by_kernel = {}
    earlier: set[str] = set()
    for kernel in report.kernels:
        # a call names the nodes of its inputs too, what makes these the node of the call
        own = calls.get(kernel.id) or [id for id in kernel.nodes if id not in called]
        computed = [id for id in own if id not in free]
        by_kernel[kernel.id] = Tokens(
            named((id for id in kernel.scheduler_nodes if id in before), steps),
            named(iter(computed), nodes),
            named(iter(own), nodes),
            named((id for id in computed if id not in earlier), nodes),
            named((o for id in own for o in origins.get(id, ())), starts),
        )
        earlier.update(computed)
    return by_kernel


def _captured(report: Report) -> dict[str, list[str]]:
    """By node id of a lowered graph: the captured nodes that it came from."""
    ids = {graph.stage: graph.id for graph in reversed(list(report.graphs))}
    if CAPTURED not in ids:
        return {}
    start = ids[CAPTURED]
    ends = [graph.id for graph in report.graphs if graph.stage == LOWERED]
    by_node = {n: o for end in ends for n, o in find_ancestors(report, start, end).items()}
    # what a pass has rewritten may have lost its origins, not its line
    places: dict[tuple[object, ...], list[str]] = {}
    for id, op, *place in select_parts(report.nodes, "graph", {start}, _PLACED):
        if op not in ("placeholder", "output"):
            places.setdefault(tuple(place), []).append(id)
    for id, op, *place in select_parts(report.nodes, "graph", set(ends), _PLACED):
        if id not in by_node and op not in ("placeholder", "output"):
            by_node[id] = places.get(tuple(place), [])
    return by_node


def match_steps(a: Report, b: Report, graphs: Graphs, nodes: Mapping[str, str]) -> dict[str, str]:
    """By id of a scheduler node of `a`, before fusion: the one of `b` that computes the same."""
    lowered_a, lowered_b = a.lowered, b.lowered
    steps_a, steps_b = _steps(a), _steps(b)
    by_id: dict[str, str] = {}
    for pair in graphs.pairs:
        if pair.a.graph.stage == LOWERED:
            ones = steps_a.get(lowered_a.get(pair.a.graph.id, ""), [])
            others = steps_b.get(lowered_b.get(pair.b.graph.id, ""), [])
            matched = align_by(_labels(ones, {}, "a"), _labels(others, nodes, "b"))
            by_id.update((ones[i].id, others[j].id) for i, j in matched.items())
    return by_id


def _steps(report: Report) -> dict[str, list[SchedulerNode]]:
    by_graph: dict[str, list[SchedulerNode]] = {}
    for node in report.scheduler_nodes:
        if node.phase == "before":
            by_graph.setdefault(node.graph, []).append(node)
    return by_graph


def _labels(
    steps: Sequence[SchedulerNode], nodes: Mapping[str, str], side: str
) -> list[list[Hashable]]:
    origins = [
        frozenset(nodes.get(o, o if side == "a" else f"b:{o}") for o in step.origins or (step.id,))
        for step in steps
    ]
    fine = [(step.kind, own) for step, own in zip(steps, origins, strict=True)]
    return [list(fine), list(origins)]

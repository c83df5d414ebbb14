"""What eager mode reads and writes: one row for each operator as the program calls it.

Of the forward half these are the calls of the captured graph, a softmax one of them; of the
backward half the ATen operators that autograd called, before they were taken apart. An operator
reads its inputs and writes its outputs once; what it keeps inside itself is not counted. Only one
that eager takes apart too, such as attention with its projections, is counted by its parts: each
library call by itself, and what lies between two calls as one pass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from workbench.analysis.fusion.traffic import (
    NodeFacts,
    count_operation_traffic,
    is_view,
    list_called_nodes,
    list_lowered_graphs,
    read_bytes,
    select_nodes,
    strip_operator_name,
    total,
)
from workbench.device_kinds import ATEN
from workbench.report import Report

_AOT = ("inference", "joint")
_HIGHER_ORDER = "higher_order"
_DROPOUTS = frozenset(("alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d"))
# fmt: off
_NOTHING = _DROPOUTS | frozenset((  # views, and what hands back its input where nothing is to do
    *ATEN, "bfloat16", "chunk", "contiguous", "double", "expand_as", "flatten", "float",
    "getattr", "half", "mT", "matrix_H", "movedim", "narrow", "numpy_T", "reshape_as", "swapaxes",
    "tensor_split", "to", "type", "type_as", "unflatten", "view_as",
))
# fmt: on
_PRODUCTS = frozenset(
    ("_int_mm", "_scaled_mm", "addbmm", "addmm", "addmv", "baddbmm", "bmm", "convolution", "mm")
)
"""Eager calls a library for these, whether Inductor writes the code or not."""


@dataclass(frozen=True)
class Pass:
    """One pass of eager over memory; `became` are the lowered nodes that compute it."""

    bytes: int
    became: tuple[str, ...]


@dataclass(frozen=True)
class Operator:
    """One operator that the program calls in eager, with its passes over memory."""

    name: str
    passes: tuple[Pass, ...]

    @property
    def bytes(self) -> int:
        """What all of its passes read and write."""
        return sum(each.bytes for each in self.passes)

    @property
    def became(self) -> tuple[str, ...]:
        """The lowered nodes that compute it."""
        return tuple(dict.fromkeys(node for each in self.passes for node in each.became))


def list_eager_operators(report: Report) -> Sequence[Operator] | None:
    """The operators that move bytes, forward then backward.

    None where a size is symbolic, an operator has a graph of its own inside, nothing was lowered,
    or a record does not tell what the operators became, or which ones autograd called.
    """
    return report.once(_eager_operators)


def _eager_operators(report: Report) -> tuple[Operator, ...] | None:
    lowered = list_lowered_graphs(report)
    stages = _stages(report, lowered)
    if not lowered or "dynamo" not in stages:
        return None
    every = select_nodes(report, "graph", set().union(*stages.values(), lowered))
    origins = _origins(report, stages, every)
    became = _became(origins, every, report, lowered)
    forward = _forward(stages["dynamo"], every, origins)
    backward = _backward(stages.get("joint", set()), every, origins)
    parts = _Parts(report, stages, every, lowered)
    operators: list[Operator] = []
    for name, nodes, moved in (*forward, *backward):
        if moved is None:
            return None
        if moved:
            own = tuple(m for n in nodes for m in became[n])
            operators.append(
                Operator(name, parts.split(nodes, origins, own) or (Pass(moved, own),))
            )
    return tuple(operators) if any(operator.became for operator in operators) else None


def _stages(report: Report, lowered: Set[str]) -> dict[str, set[str]]:
    """By stage the graphs of the compilations that were lowered: as captured, and in ATen."""
    ids = {graph.compile_id for graph in report.graphs if graph.id in lowered} | {None}
    by_stage: dict[str, set[str]] = defaultdict(set)
    for graph in report.graphs:
        if graph.stage in ("dynamo", *_AOT) and graph.compile_id in ids:
            by_stage[graph.stage].add(graph.id)
    return dict(by_stage)


def _origins(
    report: Report, stages: Mapping[str, set[str]], every: Mapping[str, NodeFacts]
) -> dict[str, tuple[str, ...]]:
    """By node of a later stage: the captured nodes, or those of autograd, that it came from."""
    captured, joint = stages["dynamo"], stages.get("joint", set())
    by_node: dict[str, tuple[str, ...]] = {id: (id,) for id in every if _graph_of(id) in captured}
    _follow(report, by_node, every, joint)
    return by_node


def _follow(
    report: Report,
    by_node: dict[str, tuple[str, ...]],
    every: Mapping[str, NodeFacts],
    joint: Set[str] = frozenset(),
) -> None:
    """Adds where nodes of later graphs come from; a node of a `joint` one may begin there."""
    for graph, pairs in report.node_pairs.items():
        for a, b in pairs:
            origins = by_node.get(a)
            if origins:
                own = by_node.get(b, ())
                by_node[b] = (*own, *(n for n in origins if n not in own)) if own else origins
        if graph in joint:
            for id, node in every.items():
                if _graph_of(id) == graph and node.op == "call_function":
                    by_node.setdefault(id, (id,))


def _graph_of(node: str) -> str:
    return node.partition(":")[0]


def _became(
    origins: Mapping[str, Sequence[str]],
    every: Mapping[str, NodeFacts],
    report: Report,
    lowered: Set[str],
) -> dict[str, list[str]]:
    """By node where it began: the lowered nodes, those of its own half where there are any.

    What autograd called may be computed ahead in the forward pass, such as the mask of a relu.
    """
    backward = {graph.id for graph in report.graphs if graph.is_backward}
    joint = {graph.id for graph in report.graphs if graph.stage == "joint"}
    by_origin: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for id in every:
        graph = _graph_of(id)
        if graph in lowered:
            for origin in origins.get(id, ()):
                is_own = (graph in backward) is (_graph_of(origin) in joint)
                by_origin[origin][0 if is_own else 1].append(id)
    found = {
        origin: [*own, *other] if _graph_of(origin) in joint else own or other
        for origin, (own, other) in by_origin.items()
    }
    return defaultdict(list, found)


class _Parts:
    """What eager takes a captured operator apart into, by its ATen nodes."""

    def __init__(
        self,
        report: Report,
        stages: Mapping[str, set[str]],
        every: Mapping[str, NodeFacts],
        lowered: Set[str],
    ):
        graphs = set().union(*(stages.get(stage, set()) for stage in _AOT))
        self._aten = {id: node for id, node in every.items() if _graph_of(id) in graphs}
        self._users: dict[str, list[str]] = defaultdict(list)
        for id, node in self._aten.items():
            for source in node.inputs:
                self._users[source].append(id)
        began: dict[str, tuple[str, ...]] = {id: (id,) for id in self._aten}
        _follow(report, began, every)
        self._became: dict[str, list[str]] = defaultdict(list)
        for id, origins in began.items():
            if _graph_of(id) in lowered:
                for origin in origins:
                    self._became[origin].append(id)
        self._called = {
            node
            for kernel in report.kernels
            if not kernel.is_generated
            for node in list_called_nodes(report, kernel)
        }
        self._by_origin: dict[str, list[NodeFacts]] | None = None

    def split(
        self, nodes: Sequence[str], origins: Mapping[str, Sequence[str]], own: Sequence[str]
    ) -> tuple[Pass, ...]:
        """Its passes over memory; empty where it calls no library, or a size is not known."""
        parts = [part for node in nodes for part in self._of(node, origins)]
        calls = [part for part in parts if self._is_call(part)]
        if not calls:
            return ()
        found: list[tuple[Sequence[NodeFacts], int | None]] = [
            (self._with_views([call], parts), count_operation_traffic(call, self._aten))
            for call in calls
        ]
        found += [
            (between, _moved_together(between, self._aten, self._users))
            for between in self._between(parts, {call.id for call in calls})
        ]
        passes = []
        for members, moved in found:
            if moved is None:
                return ()
            ends = dict.fromkeys(end for part in members for end in self._became[part.id])
            passes.append(Pass(moved, tuple(end for end in ends if end in own)))
        return tuple(each for each in passes if each.bytes)

    def _of(self, origin: str, origins: Mapping[str, Sequence[str]]) -> list[NodeFacts]:
        if self._by_origin is None:
            self._by_origin = defaultdict(list)
            for id, node in self._aten.items():
                for captured in origins.get(id, ()):
                    self._by_origin[captured].append(node)
        return [part for part in self._by_origin.get(origin, ()) if part.op == "call_function"]

    def _is_call(self, part: NodeFacts) -> bool:
        name = strip_operator_name(part.target)
        return name in _PRODUCTS or not self._called.isdisjoint(self._became[part.id])

    def _base(self, id: str) -> str:
        """The node whose memory a view shows."""
        node = self._aten[id]
        while is_view(node) and node.inputs and node.inputs[0] in self._aten:
            node = self._aten[node.inputs[0]]
        return node.id

    def _with_views(
        self, nodes: Sequence[NodeFacts], parts: Sequence[NodeFacts]
    ) -> list[NodeFacts]:
        bases = {node.id for node in nodes}
        return [*nodes, *(p for p in parts if is_view(p) and self._base(p.id) in bases)]

    def _between(self, parts: Sequence[NodeFacts], calls: Set[str]) -> Iterator[list[NodeFacts]]:
        """What hangs together without a library call in between."""
        work = {part.id: part for part in parts if part.id not in calls and not is_view(part)}
        group = {id: id for id in work}

        def find(id: str) -> str:
            while group[id] != id:
                id = group[id]
            return id

        for id, part in work.items():
            for source in part.inputs:
                base = self._base(source) if source in self._aten else source
                if base in work:
                    group[find(id)] = find(base)
        members: dict[str, list[NodeFacts]] = defaultdict(list)
        for id, part in work.items():
            members[find(id)].append(part)
        for together in members.values():
            yield self._with_views(together, parts)


Counted = tuple[str, tuple[str, ...], int | None]
"""An operator's name, its nodes, and the bytes that it moves."""


def _forward(
    graphs: set[str], every: Mapping[str, NodeFacts], origins: Mapping[str, Sequence[str]]
) -> Iterator[Counted]:
    aten: dict[str, list[NodeFacts]] = defaultdict(list)
    for id, node in every.items():
        if _graph_of(id) not in graphs:
            for origin in origins.get(id, ()):
                aten[origin].append(node)
    captured = {id: node for id, node in every.items() if _graph_of(id) in graphs}
    free = {id for id, node in captured.items() if _is_free(node, aten[id], every)}
    for id, node in captured.items():
        if not node.op.startswith("call_") or id in free:
            continue
        yield strip_operator_name(node.target), (id,), _called(node, captured, free, aten[id])


def _called(
    node: NodeFacts,
    captured: Mapping[str, NodeFacts],
    free: set[str],
    aten: Sequence[NodeFacts],
) -> int | None:
    if _HIGHER_ORDER in node.target:
        return None
    if strip_operator_name(node.target) == "setitem":  # only the part that is named is written
        value = total(read_bytes(captured[id], captured, free) for id in node.inputs[1:])
        sizes = [part.bytes for part in aten if part.bytes and is_view(part)]
        whole = captured[node.inputs[0]].bytes
        return total((value, min(sizes, default=whole)))
    if node.dtype is None and node.bytes is None:
        return 0  # a number
    return count_operation_traffic(node, captured, free)


def _is_free(node: NodeFacts, aten: Sequence[NodeFacts], every: Mapping[str, NodeFacts]) -> bool:
    """Whether nothing is moved: what it became in ATen tells, its name where it became nothing."""
    name = strip_operator_name(node.target)
    if not aten:
        return is_view(node) or name in _NOTHING
    moving = [part for part in aten if count_operation_traffic(part, every) != 0]
    if name in _DROPOUTS:  # in ATen a copy stands for one that does nothing
        return all(strip_operator_name(part.target) == "clone" for part in moving)
    return not moving


def _backward(
    graphs: set[str], every: Mapping[str, NodeFacts], origins: Mapping[str, Sequence[str]]
) -> Iterator[Counted]:
    """What autograd called: the nodes of one ATen operator read and write as one."""
    joint = {id: node for id, node in every.items() if _graph_of(id) in graphs}
    own = [node for id, node in joint.items() if origins.get(id) == (id,)]
    users: dict[str, list[str]] = defaultdict(list)
    for id, node in joint.items():
        for source in node.inputs:
            users[source].append(id)
    groups: dict[tuple[str, str], list[NodeFacts]] = defaultdict(list)
    for node in own:
        groups[_graph_of(node.id), node.operator or node.id].append(node)
    for (_, key), nodes in groups.items():
        name = (
            strip_operator_name(key.partition("#")[0])
            if nodes[0].operator
            else strip_operator_name(nodes[0].target)
        )
        moved = _moved_together(nodes, joint, users) if all(n.operator for n in nodes) else None
        yield name, tuple(node.id for node in nodes), moved


def _moved_together(
    nodes: Sequence[NodeFacts], joint: Mapping[str, NodeFacts], users: Mapping[str, Iterable[str]]
) -> int | None:
    if all(count_operation_traffic(node, joint) == 0 for node in nodes):
        return 0
    if len(nodes) == 1:
        return count_operation_traffic(nodes[0], joint)
    inside = {node.id for node in nodes}
    inputs = dict.fromkeys(id for node in nodes for id in node.inputs if id not in inside)
    written = [
        node.bytes
        for node in nodes
        if not is_view(node) and not inside.issuperset(_readers(node, joint, users))
    ]
    return total((*(read_bytes(joint[id], joint) for id in inputs), *written))


def _readers(
    node: NodeFacts, joint: Mapping[str, NodeFacts], users: Mapping[str, Iterable[str]]
) -> Iterator[str]:
    """Who uses a value, also through views."""
    for user in users.get(node.id, ()):
        yield user
        if is_view(joint[user]):
            yield from _readers(joint[user], joint, users)

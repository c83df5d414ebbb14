"""What eager mode reads and writes: one row for each operator as the program calls it.

Of the forward half these are the calls of the captured graph, a softmax one of them; of the
backward half the ATen operators that autograd called, before they were taken apart. An operator
reads its inputs and writes its outputs once; what it keeps inside itself is not counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from workbench.analysis.fusion.traffic import (
    NodeFacts,
    count_operation_traffic,
    is_view,
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
@dataclass(frozen=True)
class Operator:
    """One operator that eager mode runs; `became` are the lowered nodes that compute it."""

    name: str
    bytes: int
    became: tuple[str, ...]


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
    operators: list[Operator] = []
    for name, nodes, moved in (*forward, *backward):
        if moved is None:
            return None
        if moved:
            operators.append(Operator(name, moved, tuple(m for n in nodes for m in became[n])))
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
    return by_node


def _graph_of(node: str) -> str:
    return node.partition(":")[0]


def _became(
    origins: Mapping[str, Sequence[str]],
    every: Mapping[str, NodeFacts],
    report: Report,
    lowered: Set[str],
) -> dict[str, list[str]]:
    """By node where it began: the lowered nodes, those of its own half where there are any."""
    backward = {graph.id for graph in report.graphs if graph.is_backward}
    joint = {graph.id for graph in report.graphs if graph.stage == "joint"}
    by_origin: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for id in every:
        graph = _graph_of(id)
        if graph in lowered:
            for origin in origins.get(id, ()):
                is_own = (graph in backward) is (_graph_of(origin) in joint)
                by_origin[origin][0 if is_own else 1].append(id)
    return defaultdict(list, {origin: own or other for origin, (own, other) in by_origin.items()})


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

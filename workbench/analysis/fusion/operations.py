"""Memory traffic without fusion: what the FX operations would move if each ran alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from workbench.analysis.fusion.traffic import fusion_traffic
from workbench.report import Report
from workbench.report.column_filter import linked_pairs, parts_with

# fmt: off
_VIEWS = frozenset((
    "alias", "as_strided", "detach", "diagonal", "expand", "getitem", "permute", "reshape",
    "select", "slice", "split", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold",
    "unsqueeze", "view", "view_as_complex", "view_as_real", "_unsafe_view", "_reshape_alias",
))
# fmt: on
_LOOKUPS = frozenset(("embedding", "gather", "index", "index_select", "take", "take_along_dim"))
_STAGE = "after_post_grad"


class _Node(NamedTuple):
    """What counts of a node of a graph."""

    id: str
    op: str
    target: str
    inputs: tuple[str, ...]
    dtype: str | None
    bytes: int | None


@dataclass(frozen=True)
class OperationTraffic:
    """Bytes of the operations of the graphs that were lowered, each alone, and of the kernels.

    `before` is the sum of `reads_before` and `writes_before`: every operation reads its inputs and
    writes its output once, views are free, of a table only what is looked up counts. None where a
    size is symbolic. `after` is what the
    scheduler's final groups move by Inductor's own model; None when that was not recorded.
    """

    before: int | None
    reads_before: int | None
    writes_before: int | None
    after: int | None
    operations: int
    groups: int


def operation_traffic(report: Report) -> OperationTraffic | None:
    """The traffic before and after fusion, or None when no lowered graph was recorded."""
    chosen = _lowered(report)
    if not chosen:
        return None
    nodes = _nodes_of(report, chosen)
    moving = [node for node in nodes.values() if _moves(node)]
    reads = _total(_read(node, nodes) for node in moving)
    writes = _total(_size(node) for node in moving)
    after = fusion_traffic(report)
    return OperationTraffic(
        before=None if reads is None or writes is None else reads + writes,
        reads_before=reads,
        writes_before=writes,
        after=None if after is None else after.after,
        operations=len(moving),
        groups=0 if after is None else after.groups_after,
    )


def bytes_by_node(report: Report) -> dict[str, int]:
    """By id of an operation of a lowered graph: what it would move alone; unknown ones left out."""
    chosen = _lowered(report)
    nodes = _nodes_of(report, chosen)
    found = {}
    for id, node in nodes.items():
        moved = _total((_read(node, nodes), _size(node))) if _moves(node) else 0
        if moved is not None:
            found[id] = moved
    return found


def _lowered(report: Report) -> set[str]:
    graphs = {graph.id for graph in report.graphs if graph.stage == _STAGE}
    lowered = {graph for graph, _ in linked_pairs(report, "graph-lowered")}
    return graphs & lowered or graphs


def _nodes_of(report: Report, graphs: set[str]) -> dict[str, _Node]:
    rows = parts_with(report.nodes, "graph", graphs, _Node._fields)
    return {node.id: node for node in map(_Node._make, rows)}


def _total(sizes: Iterable[int | None]) -> int | None:
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total


def _base(target: str) -> str:
    parts = target.split(".")
    return parts[1] if len(parts) > 1 and parts[0] in ("aten", "prims", "operator") else parts[-1]


def _moves(node: _Node) -> bool:
    """Whether an operation touches memory: views, numbers and inputs do not."""
    if node.op not in ("call_function", "call_module", "call_method"):
        return False
    return _base(node.target) not in _VIEWS and not _is_number(node)


def _is_number(node: _Node) -> bool:
    return node.dtype is None and node.bytes is None


def _size(node: _Node) -> int | None:
    """Bytes of the value of a node; a number has none, a symbolic size is unknown."""
    return 0 if _is_number(node) else node.bytes


def _read(node: _Node, nodes: Mapping[str, _Node]) -> int | None:
    inputs = node.inputs
    if _base(node.target) == "copy_":  # the first one is only written
        inputs = inputs[1:]
    sizes = [_touched(nodes[name], nodes) for name in inputs if name in nodes]
    if _base(node.target) in _LOOKUPS and sizes and sizes[0] is not None:
        sizes[0] = None if node.bytes is None else min(sizes[0], node.bytes)
    return _total(sizes)


def _touched(value: _Node, nodes: Mapping[str, _Node]) -> int | None:
    """Bytes behind an input: a view touches no more than what it shows, or what it is made of."""
    size = _size(value)
    while size is not None and _base(value.target) in _VIEWS and value.inputs:
        value = nodes[value.inputs[0]]
        whole = _size(value)
        if whole is None:
            return size
        size = min(size, whole)
    return size

"""Memory traffic of a compilation: of operations alone, of fused groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar

from workbench.report import Kernel, Report, SchedulerNode
from workbench.report.record import read_parts_at, select_parts

Amount = TypeVar("Amount", int, float)


# fmt: off
VIEWS = frozenset((
    "_conj", "_neg_view", "alias", "as_strided", "detach", "diagonal", "expand", "getitem",
    "permute", "reshape",
    "select", "slice", "split", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold",
    "unsqueeze", "view", "view_as_complex", "view_as_real", "_unsafe_view", "_reshape_alias",
    "wait_tensor",  # gives what a collective has written
))
# fmt: on
_LOOKUPS = frozenset(
    ("embedding", "gather", "getitem", "index", "index_select", "take", "take_along_dim")
)
_INDEXES_FIRST = "torch.nn.functional.embedding"
_STAGE = "after_post_grad"


class NodeFacts(NamedTuple):
    """What counts of a node of a graph."""

    id: str
    op: str
    target: str
    file: str | None
    line: int | None
    called_from: tuple[str, ...]
    inputs: tuple[str, ...]
    dtype: str | None
    shape: tuple[int | str, ...] | None
    bytes: int | None
    operator: str | None = None
    module_path: str | None = None
    stride: tuple[int | str, ...] | None = None


def select_nodes(report: Report, column: str, wanted: Collection[str]) -> dict[str, NodeFacts]:
    """By id the nodes whose value in a column is one of those wanted, in the order of the table."""
    if column == "id":
        places = sorted(report.node_row[id] for id in wanted if id in report.node_row)
        rows = read_parts_at(report.nodes, places, NodeFacts._fields)
    else:
        rows = select_parts(report.nodes, column, wanted, NodeFacts._fields)
    return {node.id: node for node in map(NodeFacts._make, rows)}


def read_kernel_nodes(report: Report) -> Mapping[str, NodeFacts]:
    """By id the nodes of all kernels, and those that they read."""
    return report.once(_read_kernel_nodes)


def _read_kernel_nodes(report: Report) -> dict[str, NodeFacts]:
    own = select_nodes(report, "id", {id for kernel in report.kernels for id in kernel.nodes})
    inputs = {id for node in own.values() for id in node.inputs}
    return own | select_nodes(report, "id", inputs - own.keys())


@dataclass(frozen=True)
class FusionTraffic:
    """Bytes that the scheduler's groups move, by Inductor's own model, before and after fusion."""

    before: int
    after: int
    groups_before: int
    groups_after: int


def measure_fusion_traffic(report: Report) -> FusionTraffic | None:
    """The traffic of all lowered graphs, or None when no scheduler node has bytes."""
    nodes = list(report.scheduler_nodes)
    before, after = (
        [bytes_of(node) for node in nodes if node.phase == phase] for phase in ("before", "after")
    )
    if sum_known((*before, *after)) is None:
        return None
    return FusionTraffic(sum_known(before) or 0, sum_known(after) or 0, len(before), len(after))


def sum_known(parts: Iterable[Amount | None]) -> Amount | None:
    """The sum of the parts that are known; None when none is."""
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def bytes_of(row: Kernel | SchedulerNode) -> int | None:
    """Bytes that one call reads and writes; None when neither is known."""
    return sum_known((row.bytes_read, row.bytes_written))


def count_moved_bytes(kernel: Kernel) -> int | None:
    """Bytes that all calls of a kernel read and write; None when neither is known."""
    once = bytes_of(kernel)
    return None if once is None else once * max(kernel.calls, 1)


def count_operation_bytes(report: Report) -> int | None:
    """Bytes that the operations of the graphs that were lowered would move, each alone.

    Every operation reads its inputs and writes its output once, views are free, of a table only
    what is looked up counts. None where a size is symbolic, or no lowered graph was recorded.
    """
    return total(report.once(_by_node).values()) if list_lowered_graphs(report) else None


def count_bytes_by_node(report: Report) -> dict[str, int]:
    """By id of an operation of a lowered graph: what it would move alone; unknown ones left out."""
    return {id: moved for id, moved in report.once(_by_node).items() if moved is not None}


def _by_node(report: Report) -> dict[str, int | None]:
    nodes = select_nodes(report, "graph", list_lowered_graphs(report))
    return {id: count_operation_traffic(node, nodes) for id, node in nodes.items()}


def list_lowered_graphs(report: Report) -> frozenset[str]:
    """The ids of the graphs that the scheduler got."""
    return report.once(_lowered_graphs)


def _lowered_graphs(report: Report) -> frozenset[str]:
    graphs = frozenset(graph.id for graph in report.graphs if graph.stage == _STAGE)
    return graphs & report.lowered.keys() or graphs


def total(sizes: Iterable[int | None]) -> int | None:
    """The sum of sizes; None when one is not known."""
    size_sum = 0
    for size in sizes:
        if size is None:
            return None
        size_sum += size
    return size_sum


@lru_cache(maxsize=4096)
def strip_operator_name(target: str) -> str:
    """The name of an operation without its library, its overload and its underscore in front."""
    parts = target.split(".")
    has_overload = len(parts) == 3 and parts[0] != "torch"
    is_known = len(parts) > 1 and parts[0] in ("aten", "prims", "operator")
    return parts[1] if has_overload or is_known else parts[-1]


def list_called_nodes(report: Report, kernel: Kernel) -> Iterator[str]:
    """The nodes whose operator a call of a library, or of an eager operator, is."""
    name = strip_operator_name(kernel.name.removeprefix("torch.ops."))
    targets = report.nodes.columns.get("target", ())
    for node in kernel.nodes:
        row = report.node_row.get(node)
        if row is not None and strip_operator_name(targets[row]) == name:
            yield node


def is_view(node: NodeFacts) -> bool:
    """Whether an operation shows memory that is there already, by its name."""
    return strip_operator_name(node.target) in VIEWS


def count_operation_traffic(
    node: NodeFacts, nodes: Mapping[str, NodeFacts], free: Collection[str] | None = None
) -> int | None:
    """What an operation reads and writes: views, numbers and inputs do not touch memory.

    `free` are the ids of the nodes that only hand on what they got; without it their names tell.
    None where a size is symbolic.
    """
    is_call = node.op in ("call_function", "call_module", "call_method")
    if not is_call or _hands_on(node, free) or _is_number(node):
        return 0
    return total((_read(node, nodes, free), node.bytes))


def _hands_on(node: NodeFacts, free: Collection[str] | None) -> bool:
    return is_view(node) if free is None else node.id in free


def _is_number(node: NodeFacts) -> bool:
    return node.dtype is None and node.bytes is None


def _size(node: NodeFacts) -> int | None:
    """Bytes of the value of a node; a number has none, a symbolic size is unknown."""
    return 0 if _is_number(node) else node.bytes


def _read(
    node: NodeFacts, nodes: Mapping[str, NodeFacts], free: Collection[str] | None
) -> int | None:
    inputs = node.inputs
    if strip_operator_name(node.target) == "copy_":  # the first one is only written
        inputs = inputs[1:]
    sizes = [read_bytes(nodes[name], nodes, free) for name in inputs if name in nodes]
    table = int(node.target == _INDEXES_FIRST)
    if (
        strip_operator_name(node.target) in _LOOKUPS
        and len(sizes) > table
        and sizes[table] is not None
    ):
        sizes[table] = None if node.bytes is None else min(sizes[table] or 0, node.bytes)
    return total(sizes)


def read_bytes(
    value: NodeFacts, nodes: Mapping[str, NodeFacts], free: Collection[str] | None = None
) -> int | None:
    """Bytes behind an input: a view touches no more than what it shows, or what it is made of."""
    size = _size(value)
    while size is not None and _hands_on(value, free) and value.inputs:
        value = nodes[value.inputs[0]]
        whole = _size(value)
        if whole is None:
            return size
        size = min(size, whole)
    return size

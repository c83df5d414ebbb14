"""Scheduler nodes and buffers of each lowered graph, before and after fusion."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf, prod
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook
from workbench.compiler.process_groups.cluster import find_cluster
from workbench.compiler.recording.collective_nodes import (
    count_collective_bytes,
    find_called_node,
    find_ordering,
)
from workbench.compiler.recording.collectives import (
    DecisionRecorder,
    FoundCollective,
    Move,
    Places,
    ask_torch,
    find_collectives,
    list_collectives,
    read_moves,
)
from workbench.compiler.recording.flops import evaluate_count, operations
from workbench.compiler.recording.stage_graphs import GraphRecorder, KeptGraph
from workbench.report import Buffer, Kernel, Link, Node, SchedulerNode, Table
from workbench.report.collectives.collective_rows import PASSES, Collective
from workbench.report.rows import Lowering


def count_bytes_read(node: Any) -> int:
    """What a node reads. Of a fused one Inductor counts a table that is looked up in as a whole."""
    if (moved := _moved(node)) is not None:
        return moved[0]
    parts = node.get_nodes()
    reads = _read(node)
    return reads if len(parts) < 2 else min(reads, sum(map(_read, parts)))


def count_bytes_written(node: Any) -> int:
    """What a node writes."""
    if (moved := _moved(node)) is not None:
        return moved[1]
    return _sizes(node, include_reads=False, include_writes=True)


def _moved(node: Any) -> tuple[int, int] | None:
    """Bytes read and written of a collective; Inductor counts the nodes around it as its own."""
    if not node.is_extern():
        return None
    origins = find_origins(node.node)
    return count_collective_bytes(node.node, origins[0] if len(origins) == 1 else None)


def _read(node: Any) -> int:
    return _sizes(node, include_reads=True, include_writes=False) + _constants_read(node)


def _sizes(node: Any, **which: bool) -> int:
    """Inductor's traffic model; torch's other methods of it keep what they return.

    It counts what a node only has to come after as read, in whole, and takes a node that only has
    to come after one for a user of what that makes: several outputs are then no bytes, and what is
    fused away is written (2.11 to 2.15).
    """
    counted, by_name = node.read_writes, node.scheduler.name_to_buf
    real = [dep for dep in counted.reads if not isinstance(dep, tp.WEAK_DEP.get())]
    buffers = [by_name[dep.name] for dep in counted.writes if dep.name in by_name]
    users = [buffer.users for buffer in buffers]
    node.read_writes = replace(counted, reads=type(counted.reads)(real))
    try:
        for buffer in buffers:
            buffer.users = [user for user in buffer.users if not user.is_weak]
        return int(node.get_read_write_buffers_sizes_impl(**which))
    finally:
        node.read_writes = counted
        for buffer, before in zip(buffers, users, strict=True):
            buffer.users = before


def _constants_read(node: Any) -> int:
    constants = tp.VIRTUALIZED.get().graph.constants
    reads = Counter(dep.name for dep in node.read_writes.reads if dep.name in constants)
    if not reads:
        return 0
    elements = _elements(node)
    return sum(
        int(min(count * elements, constants[name].numel())) * constants[name].element_size()
        for name, count in reads.items()
    )


def _elements(node: Any) -> float:
    """How many elements a generated loop has; a library call may read all there are."""
    if len(node.get_nodes()) > 1 or node.is_extern():
        return inf
    count = evaluate_count(prod(size for sizes in node.get_ranges()[:2] for size in sizes))
    return inf if count is None else count


PANE = "scheduler_nodes"
_INVOKED = "invoke_subgraph"
_KINDS = {
    "ExternKernelSchedulerNode": "extern",
    "NopKernelSchedulerNode": "nop",
    "FusedSchedulerNode": "fused",
    "ForeachKernelSchedulerNode": "foreach",
    "FusedMixOrderReductions": "fused reductions",
    "FusedNestedReductions": "fused reductions",
    "GroupedSchedulerNode": "grouped",
}


@dataclass
class Lowered:
    """One graph in Inductor's scheduler; `graph` is its FX graph, when that was recorded.

    A part of another graph is called `times` by one call of the whole; `own` is the identity of
    its graph, since the nodes around it count as origins too, under names that it has as well.
    `ordering` has the nodes of operators that torch only put in an order, with what calls them.
    """

    id: str
    graph: KeptGraph | None
    is_backward: bool
    own: int | None = None
    times: int = 1
    before: list[SchedulerNode] = field(default_factory=list)
    after: list[SchedulerNode] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    lowerings: list[Lowering] = field(default_factory=list)
    lines: dict[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    sizes: tuple[tuple[str, int], ...] = ()
    collectives: tuple[FoundCollective, ...] = ()
    moves: list[Move] = field(default_factory=list)
    torch_us: Mapping[str, float] = field(default_factory=dict)
    ordering: Mapping[Any, Any | None] = field(default_factory=dict)

    @property
    def is_part(self) -> bool:
        """Whether it is a part of another graph."""
        return self.own is not None

    def of_it(self, origins: list[Any]) -> list[Any]:
        """Those of FX nodes that are in this graph; of an operator in an order, what calls it."""
        if self.ordering:
            callers = dict.fromkeys(self.ordering.get(node, node) for node in origins)
            origins = [node for node in callers if node is not None]
        if self.own is None:
            return origins
        return [node for node in origins if id(node.graph) == self.own]

    def fx_ids(self, names: Iterable[str]) -> tuple[str, ...]:
        """The ids of FX nodes of this graph; names that it does not have are left out."""
        graph = self.graph
        if graph is None:
            return ()
        return tuple(f"{graph.id}:{name}" for name in names if name in graph.targets)


class LoweringRecorder:
    """Reads the scheduler's nodes when it starts to fuse and when it is done."""

    def __init__(self, graphs: GraphRecorder):
        self.lowered: list[Lowered] = []
        self._graphs = graphs
        self._by_graph: dict[int, Lowered] = {}
        self._operators = OperatorRecorder()
        self._decisions = DecisionRecorder()

    def list_hooks(self) -> Iterator[Hook]:
        """Watch what each operator becomes, the scheduler, and what moves collectives."""
        yield from self._operators.list_hooks()
        yield Hook(tp.LOG_PRE_FUSION, PANE, before=self._before_fusion)
        yield Hook(tp.LOG_POST_FUSION, PANE, before=self._after_fusion)
        if find_cluster() is not None:  # for other programs the passes are not even imported
            yield Hook(tp.LOG_POST_FUSION, PASSES, before=self._ask_torch)
            yield Hook(tp.MERGE_COLLECTIVES, PASSES, after=self._decisions.on_merge)
            yield Hook(tp.FINISH_OVERLAP, PASSES, before=self._decisions.on_overlap)
            yield Hook(tp.PIPELINE_PRODUCTS, PASSES, after=self._decisions.on_pipeline)
            for by, name in tp.COLLECTIVE_MOVERS.items():
                yield Hook(name, PASSES, after=partial(self._after_moving, by))

    @property
    def current(self) -> Lowered | None:
        """The graph that is being lowered."""
        return self._by_graph.get(id(self._virtualized.graph)) if self.lowered else None

    @cached_property
    def _virtualized(self) -> Any:  # asked for with every pair that could be fused
        return tp.VIRTUALIZED.get()

    def close(self) -> None:
        """Forget which of torch's objects were seen."""
        self._by_graph.clear()
        for lowered in self.lowered:
            lowered.ordering = {}
        self._operators.close()
        self._decisions.close()

    def _before_fusion(self, nodes: Any) -> None:
        graph = tp.VIRTUALIZED.get().graph
        around = getattr(graph, "parent", None)
        kept_graph = self._graphs.lowered(graph.module, is_part=around is not None)
        id_ = f"i{len(self.lowered)}"
        lowered = Lowered(id_, kept_graph, bool(graph.is_backward))
        if around is not None:
            outer = self._by_graph.get(id(around))
            lowered.own = id(graph.module.graph)
            lowered.times = _calls_of(graph.module, around.module) * (outer.times if outer else 1)
        lowered.ordering = dict(find_ordering(graph.module))
        self.lowered.append(lowered)
        self._by_graph[id(graph)] = lowered
        lowered.lowerings = [
            replace(row, graph=id_, node=next(iter(lowered.fx_ids([row.node or ""])), None))
            for row in self._operators.take(graph)
        ]
        lowered.before = [self._node(node, lowered, "before") for node in nodes]

    def _after_fusion(self, nodes: Any) -> None:
        lowered = self.current
        if lowered is None:
            return
        lowered.after = [self._node(node, lowered, "after") for node in nodes]
        lowered.buffers = list(_buffers(lowered))
        module = tp.VIRTUALIZED.get().graph.module
        lowered.sizes = tuple(_open_sizes(module))
        decisions = self._decisions.take(module.graph)
        collectives = find_collectives(module, lowered.fx_ids, decisions)
        lowered.collectives = tuple(
            replace(
                collective,
                merged_from=self._graphs.ids_before(lowered.graph, collective.merged_from),
            )
            for collective in collectives
        )

    def _ask_torch(self, _: Any) -> None:
        """Apart from what the program has: no formula for a collective costs only its times."""
        lowered = self.current
        if lowered is not None:
            module = tp.VIRTUALIZED.get().graph.module
            lowered.torch_us = dict(ask_torch(module, lowered.fx_ids))

    def _after_moving(self, by: str, result: Any, *_: Any, **__: Any) -> None:
        """What a pass over scheduler nodes did, which runs when all are fused."""
        lowered = self.current
        if lowered is not None:

            def name_nodes(snode: Any) -> tuple[str, ...]:
                return lowered.fx_ids(n.name for n in list_fx_nodes(snode.get_nodes()))

            lowered.moves += read_moves(by, result[1], name_nodes)

    def _node(self, node: Any, lowered: Lowered, phase: str) -> SchedulerNode:
        name = node.get_name()
        members = tuple(n.get_name() for n in node.get_nodes())
        origins = lowered.of_it(list_fx_nodes(node.get_nodes()))
        if phase == "before":
            lowered.lines[name] = self._graphs.lines(origins)
        device = node.get_device()
        return SchedulerNode(
            id=f"{lowered.id}:{name}",
            graph=lowered.id,
            name=name,
            phase=phase,
            kind=_kind(node),
            members=members,
            origins=lowered.fx_ids(n.name for n in origins),
            bytes_read=count_bytes_read(node),
            bytes_written=count_bytes_written(node),
            device=None if device is None else str(device),
            flops=operations(node) if len(members) == 1 else None,
        )

    def collectives(
        self,
        kernels: Sequence[Kernel],
        nodes: Table[Node],
        line_id: Callable[[str | None, int | None], str | None],
    ) -> list[Collective]:
        """Those of every lowered graph, by the kernels of its program."""
        programs = [(low.id, low.collectives, low.moves, low.torch_us) for low in self.lowered]
        programs = [program for program in programs if program[1]]
        if not programs:
            return []
        columns = nodes.columns
        rows = {id: row for row, id in enumerate(columns["id"])}

        def find_places(node: str) -> Places:
            row = rows[node]
            line = line_id(columns["file"][row], columns["line"][row])
            return () if line is None else (line,), columns["called_from"][row]

        return list_collectives(programs, kernels, find_cluster(), find_places)

    def links(self) -> Iterator[Link]:
        """FX graphs and nodes with what became of them in the scheduler."""
        for lowered in self.lowered:
            if lowered.graph is not None:
                yield Link(lowered.graph.id, lowered.id, "graph-lowered")
            for node in lowered.before:
                for origin in node.origins:
                    yield Link(origin, node.id, "node-scheduler")
            for node in lowered.after:
                for member in node.members:
                    if member != node.name:
                        yield Link(f"{lowered.id}:{member}", node.id, "scheduler-fused")


def list_fx_nodes(snodes: Iterable[Any]) -> list[Any]:
    """The FX nodes behind scheduler nodes, each once, by name; two graphs may share a name."""
    nodes = (getattr(snode, "node", None) for snode in snodes)
    origins = dict.fromkeys(o for node in nodes if node is not None for o in find_origins(node))
    return sorted(origins, key=lambda origin: str(origin.name))


def find_origins(node: Any) -> list[Any]:
    """The FX nodes behind one IR node; for a library call the one that it computes."""
    origins = list(node.get_origins())
    exact = node.get_origin_node() if not hasattr(node, "data") else None
    called = find_called_node(node, origins)
    if called is not None:
        return [called]
    return [exact] if exact is not None else origins


def _calls_of(part: Any, module: Any) -> int:
    """How often a graph calls a part that it has once; 1 for a branch or the body of a loop."""
    attributes = module.graph.find_nodes(op="get_attr")
    users = [
        user
        for node in attributes
        if getattr(module, str(node.target), None) is part
        for user in node.users
    ]
    return max(1, sum(str(user.target) == _INVOKED for user in users))


def _open_sizes(module: Any) -> Iterator[tuple[str, int]]:
    """Sizes of the inputs that were left open, by their symbols, as in the example call."""
    sizes: dict[str, int] = {}
    for node in module.graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        for size in value.shape if isinstance(value, torch.Tensor) else [value]:
            if isinstance(size, torch.SymInt) and size.node.hint is not None:
                sizes[str(size.node.expr)] = int(size.node.hint)
    yield from ((name, value) for name, value in sizes.items() if name.isidentifier())


def _kind(node: Any) -> str:
    if node.is_template():
        return "template"
    kind = _KINDS.get(type(node).__name__)
    return kind or ("reduction" if node.is_reduction() else "pointwise")


def _buffers(lowered: Lowered) -> Iterator[Buffer]:
    graph = tp.VIRTUALIZED.get().graph
    outputs = set(graph.get_output_names())
    readers: dict[str, list[str]] = {}
    writers: dict[str, str] = {}
    for node in graph.scheduler.nodes:
        for part in node.get_nodes():
            id_ = f"{lowered.id}:{part.get_name()}"
            for dep in part.read_writes.reads:
                readers.setdefault(dep.name, []).append(id_)
            for name in part.get_buffer_names():
                writers[name] = id_
    values = [(name, value, "input") for name, value in graph.graph_inputs.items()]
    values += [(name, graph.constants[name], "constant") for name in graph.constants]
    real = graph.scheduler.mutation_real_name
    changed: dict[str, str] = {}
    for name, buffer in graph.scheduler.name_to_buf.items():
        kind = "output" if name in outputs else "intermediate"
        values.append((name, buffer.node, kind))
        changed.update((name, real.get(other, other)) for other in buffer.get_mutations())
    for name, value, kind in values:
        shape, dtype, device, size = _layout(value)
        written = (writers[name],) if name in writers else ()
        own_readers = tuple(dict.fromkeys(readers.get(name, ())))
        held = _held(name, value, kind)
        node = next(iter(lowered.fx_ids([held] if held else [])), None)
        yield Buffer(
            f"{lowered.id}:{name}",
            lowered.id,
            name,
            kind,
            shape,
            dtype,
            device,
            size,
            written,
            own_readers,
            node=node,
            stored_in=changed.get(name),
            parts=_parts(value),
        )


def _parts(value: Any) -> tuple[int | None, ...]:
    """Bytes of the results of a library call that gives several, also of those nobody takes."""
    outputs = getattr(value, "outputs", None)
    if not isinstance(outputs, list | tuple) or len(outputs) < 2:
        return ()
    return tuple(0 if part is None else _layout(part)[3] for part in outputs)


def _held(name: str, value: Any, kind: str) -> str | None:
    """The FX node whose value a buffer holds; inputs have the names of theirs."""
    if kind in ("input", "constant"):
        return name
    origin = value.get_origin_node() if hasattr(value, "get_origin_node") else None
    return None if origin is None else str(origin.name)


def _layout(value: Any) -> tuple[tuple[int | str, ...] | None, str | None, str | None, int | None]:
    """Shape, dtype, device and bytes of an IR node or a tensor; None where it has none."""
    if isinstance(value, tp.NON_TENSOR_IR.get()):  # asked for its dtype, some raise
        return None, None, None, None
    if hasattr(value, "get_size") and hasattr(value, "maybe_get_dtype"):
        sizes = value.maybe_get_size()
        dtype, device = value.maybe_get_dtype(), value.get_device()
    elif hasattr(value, "shape") and hasattr(value, "dtype"):
        sizes, dtype, device = value.shape, value.dtype, value.device
    else:
        return None, None, None, None
    if sizes is None or dtype is None:
        return None, None, None, None
    shape = tuple(int(s) if str(s).isdigit() else str(s) for s in sizes)
    size: int | None = dtype.itemsize
    for dim in shape:
        size = size * dim if isinstance(dim, int) and size is not None else None
    return shape, str(dtype).removeprefix("torch."), str(device), size


LOWERINGS_PANE = "lowerings"
_ITS_INPUT = "its input"
_BOXES = ("TensorBox", "StorageBox")
_IR_KINDS = {
    "Scatter": "scatter",
    "Pointwise": "pointwise",
    "Reduction": "reduction",
    "Scan": "scan",
    "Sort": "sort",
    "BaseView": "view",
    "TemplateBuffer": "template",
    "MultiTemplateBuffer": "template or library call",
    "ConcatKernel": "concatenation",
    "UserDefinedTritonKernel": "user kernel",
    "FallbackKernel": "fallback",
    "ScatterFallback": "fallback",
    "IndexPutFallback": "fallback",
    "InplaceBernoulliFallback": "fallback",
    "InplaceCopyFallback": "fallback",
    "Conditional": "control flow",
    "WhileLoop": "control flow",
    "InvokeSubgraph": "control flow",
    "ExternKernel": "library call",
    "BaseConstant": "pointwise",
}
"""Classes of Inductor's IR by name; the nearest class of an object counts."""
_PART_OF_ANOTHER = ("MultiOutput", "MutationOutput", "NopKernel", "InputBuffer")
_WITHIN = tp.LOWERINGS.module.removesuffix("lowering")
_FALLBACK = "lowering.fallback_handler"


@dataclass
class _Open:
    """A node on its way: how many operations were there, and whether a lowering was called."""

    first: int
    is_called: bool = False


class OperatorRecorder:
    """Keeps what Inductor made of each operator of the graphs that it lowers."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._found: dict[int, tuple[Any, list[Lowering]]] = {}

    def list_hooks(self) -> Iterator[Hook]:
        """Watch every node on its way to IR."""
        yield Hook(tp.LOWER_NODE, LOWERINGS_PANE, before=self._enter, after=self._leave)
        yield Hook(tp.CALL_LOWERING, LOWERINGS_PANE, before=self._call)

    def close(self) -> None:
        """Forget which of torch's objects were seen."""
        self._open.clear()
        self._found.clear()

    def take(self, graph: Any) -> list[Lowering]:
        """The rows of a graph that is lowered; they name their nodes and not yet their graph."""
        _, rows = self._found.pop(id(graph), (None, []))
        return rows

    def _enter(self, graph: Any, node: Any) -> None:
        self._open.append(_Open(len(graph.operations)))

    def _call(self, /, *args: Any) -> None:
        if self._open:
            self._open[-1].is_called = True

    def _leave(self, result: Any, graph: Any, node: Any) -> None:
        opened = self._open.pop()
        if node.op != "call_function" or not hasattr(node.target, "namespace"):
            return  # an argument, a result, or arithmetic on sizes
        operation_kinds = [
            _name_made(one) for one in graph.operations[opened.first :] if _is_of(one, node)
        ]
        for value in map(_unboxed, result if isinstance(result, tuple | list) else (result,)):
            if not hasattr(value, "operation_name"):  # else it is among the operations
                operation_kinds.append(_name_made(value) if _is_of(value, node) else None)
        kinds = tuple(dict.fromkeys(kind for kind in operation_kinds if kind is not None)) or (
            _ITS_INPUT,
        )
        name = _lowering(node) if opened.is_called else _FALLBACK
        row = Lowering("", node.name, str(node.target), name, kinds)
        self._found.setdefault(id(graph), (graph, []))[1].append(row)


def _unboxed(value: Any) -> Any:
    while type(value).__name__ in _BOXES:
        value = value.data
    return value


def _written(value: Any) -> Any:
    """What computes a buffer; views and all else stand for themselves."""
    return value.data if type(value).__name__ == "ComputedBuffer" else value


def _is_of(value: Any, node: Any) -> bool:
    """Whether something was made for this node, and not for an input of it before."""
    written = _written(value)
    return node in getattr(written, "origins", ())


def _name_made(value: Any) -> str | None:
    written = type(_written(value))
    if written.__name__ in _PART_OF_ANOTHER:
        return None
    return next(
        (_IR_KINDS[one.__name__] for one in written.__mro__ if one.__name__ in _IR_KINDS),
        None,
    )


def _lowering(node: Any) -> str | None:
    """The function that lowered a node, without the module's `torch._inductor`."""
    custom = node.meta.get("custom") or {}
    if "should_fallback" in node.meta or custom.get("fallback_to_eager"):
        return _FALLBACK
    users, own = tp.USER_LOWERINGS.find() or {}, tp.LOWERINGS.find() or {}
    called = users.get(node.target) or own.get(node.target)
    if called is None:
        return None
    function = inspect.unwrap(called)
    name = function.__qualname__.partition(".<locals>")[0]
    return f"{function.__module__}.{name}".removeprefix(_WITHIN)

"""The graphs that Inductor lowered, as plain data that another process can run.

Recorded in the process that compiles, for a device that is not there: the description names
operators and nodes, holds no tensors but constants, and says "cpu" for the device.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import torch

from workbench.compiler.captured_graphs.program_parts import NoProgram, Program
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.device_kinds import CPU, is_gpu

PANE = "captured_graphs"
WITHOUT_BIAS = " without its bias"
"""Behind the name of a convolution: what it gives without the bias."""
AS_COMPUTED = " as computed"
"""Behind the name of a node: what it gave, before a collective changed it in place."""
_COLLECTIVES = "_c10d_functional"


@dataclass(frozen=True)
class Write:
    """A buffer that a kernel writes, and the node whose value it then holds.

    `buffer` is the variable of the program: for a mutation the one that is changed. Buffers that
    are allocated only have nothing written to them. `node` may end in `WITHOUT_BIAS`. A collective
    that changes its buffer in place leaves the value of its own node there, as one that is awaited
    does.
    """

    buffer: str
    node: str | None
    is_allocation: bool = False
    is_collective: bool = False


@dataclass(frozen=True)
class UsersKernel:
    """A Triton kernel of the user in a graph: its name and the constants that it is given."""

    name: str
    constants: Mapping[str, Any]


@dataclass(frozen=True)
class CapturedGraph:
    """A graph in the order of its nodes; `writes` has a group for every kernel or library call.

    Of a joint graph `gradient_of` has, for a node of autograd's, the node of Dynamo's graph whose
    gradient it helps to compute. `strides` are those of its outputs on the device that it was
    captured for, None where they are not known or not whole numbers.
    """

    nodes: tuple[CapturedNode, ...]
    is_backward: bool = False
    parts: Mapping[str, CapturedGraph] = field(default_factory=dict)
    constants: Mapping[str, torch.Tensor] = field(default_factory=dict)
    writes: tuple[tuple[Write, ...], ...] = ()
    kernels: Mapping[tuple[int, int], UsersKernel] = field(default_factory=dict)
    loops: Mapping[str, LoopBody] = field(default_factory=dict)
    layouts: Mapping[str, TensorLike] = field(default_factory=dict)
    gradient_of: Mapping[str, str] = field(default_factory=dict)
    strides: tuple[tuple[int, ...] | None, ...] = ()

    @property
    def targets(self) -> set[str]:
        """The names of the operators in it, those of its parts included."""
        named = {
            node.target.name
            for node in self.nodes
            if isinstance(node.target, OperatorRef | HigherOrderRef)
        }
        return named.union(*(part.targets for part in self.parts.values()))


_NONE: Mapping[str, CapturedGraph] = {}
# pybind11 raises RuntimeError for what belongs to this process
_NOT_SENDABLE = (pickle.PicklingError, TypeError, AttributeError, RuntimeError)


class GraphKeeper(Patches):
    """Keeps every graph that is lowered until it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.graphs: list[CapturedGraph] = []
        self.observe(tp.LOG_POST_FUSION, PANE, before=self._keep)

    def added(
        self, program: Program | NoProgram, stages: Mapping[str, CapturedGraph] = _NONE
    ) -> Program | NoProgram:
        """The program with the graphs, or with the reason why they cannot be kept.

        Of the `stages` those that cannot be sent are left out.
        """
        if isinstance(program, NoProgram):
            return program
        program = replace(program, stages=dict(_list_sendable(stages)))
        why = self.missing.get(PANE) or self.failed.get(PANE)
        if why is not None:
            return replace(program, no_graphs=why)
        if not self.graphs:
            return program
        try:
            return replace(program, graphs=pickle.dumps(tuple(self.graphs)))
        except _NOT_SENDABLE as error:
            return replace(program, no_graphs=f"it cannot be sent to another process: {error}")

    def _keep(self, nodes: Any) -> None:
        graph = tp.VIRTUALIZED.get().graph
        if getattr(graph, "parent", None) is None:  # the parts of a graph are kept with it
            record = captured(graph.module, is_backward=bool(graph.is_backward))
            writes = tuple(_writes(node, graph.scheduler) for node in nodes)
            loops, layouts = _loops(graph, writes)
            strides = tuple(_list_strides(graph.module))
            self.graphs.append(
                replace(record, writes=writes, loops=loops, layouts=layouts, strides=strides)
            )


def _list_strides(module: Any) -> Iterator[tuple[int, ...] | None]:
    """How torch's own operators lay out each output, recorded before passes over the graph."""
    (end,) = (node for node in module.graph.nodes if node.op == "output")
    for strides in end.meta.get("original_output_strides", ()):
        is_static = strides is not None and all(type(one) is int for one in strides)
        yield tuple(strides) if is_static else None


def _list_sendable(stages: Mapping[str, CapturedGraph]) -> Iterator[tuple[str, bytes]]:
    for id, graph in stages.items():
        with suppress(*_NOT_SENDABLE):
            yield id, pickle.dumps(graph)


def _writes(node: Any, scheduler: Any) -> tuple[Write, ...]:
    writes = []
    is_allocation = type(node).__name__ == "NopKernelSchedulerNode"
    called = str(getattr(node.node, "op_overload", ""))
    is_collective = called.startswith(_COLLECTIVES)
    for output in node.get_outputs():
        name = output.get_name()
        if is_collective:
            own = [n for n in node.node.origins if _name_op(n.target) == _name_op(called)]
            held = max(own).name if own else None
        else:
            held = _value_of(output.node, is_library=node.is_extern())
        for real in output.get_mutations() or (name,):
            root = scheduler.mutation_real_name.get(real, real)
            writes.append(Write(root, held, is_allocation, is_collective))
    return tuple(writes)


def _name_op(target: Any) -> str:
    """An operator by its name, that in place as the other: torch chooses between the two."""
    return str(target).rpartition(".")[0].removesuffix("_")


def _value_of(buffer: Any, *, is_library: bool) -> str | None:
    """The node whose value a buffer holds; a library's convolution leaves the bias to a kernel.

    The last of the convolutions that it comes from is its own.
    """
    origin = buffer.get_origin_node()
    if origin is not None and str(origin.target).startswith(_COLLECTIVES):
        # torch overwrites it: what a collective changes in place counts as its result
        nodes = [n for n in buffer.origins if not str(n.target).startswith(_COLLECTIVES)]
        return max(nodes).name if nodes and is_library else None
    if origin is not None or not is_library:
        return None if origin is None else str(origin.name)
    nodes = [n for n in buffer.origins if str(n.target) == "aten.convolution.default"]
    return f"{max(nodes).name}{WITHOUT_BIAS}" if nodes else None


def _loops(
    graph: Any, writes: tuple[tuple[Write, ...], ...]
) -> tuple[dict[str, LoopBody], dict[str, TensorLike]]:
    """Loops and how buffers lie in memory.

    Loops are those of the buffers that no node of the graph has, and of those that are written to
    again: the node has what they hold in the end.
    """
    all_writes = [write for group in writes for write in group]
    counts = Counter(write.buffer for write in all_writes if not write.is_allocation)
    from_nodes = {write.buffer for write in all_writes if write.node is not None}
    from_nodes -= {name for name, count in counts.items() if count > 1}
    loops, layouts = {}, {}
    for node in graph.scheduler.nodes:
        for part in node.get_nodes():
            for name in part.get_buffer_names():
                layout = read_layout(graph.scheduler.name_to_buf[name].node)
                if layout is not None:
                    layouts[name] = layout
                body = None if name in from_nodes else read_loop_body(part)
                if body is not None:
                    loops[name] = body
    return loops, layouts


def captured(module: Any, *, is_backward: bool = False) -> CapturedGraph:
    """A graph module as plain data."""
    parts: dict[str, CapturedGraph] = {}
    constants: dict[str, torch.Tensor] = {}
    kernels: dict[tuple[int, int], UsersKernel] = {}
    for node in module.graph.nodes:
        if node.op == "get_attr":
            value = attrgetter(node.target)(module)
            if isinstance(value, torch.fx.GraphModule):
                parts[node.target] = captured(value)
            elif isinstance(value, torch.Tensor):
                with tp.UNSET_FAKE.get()():  # the mode of the compilation refuses real tensors
                    constants[node.target] = value.detach().cpu()
        if "kernel_idx" in node.kwargs:
            _keep_kernel(node.kwargs, kernels)
    return CapturedGraph(
        list_captured_nodes(module.graph), is_backward, parts, constants, kernels=kernels
    )


def _keep_kernel(kwargs: Mapping[str, Any], kernels: dict[tuple[int, int], UsersKernel]) -> None:
    table = tp.KERNEL_SIDE_TABLE.get()
    numbers = kwargs["kernel_idx"], kwargs["constant_args_idx"]
    kernel = table.get_kernel(numbers[0])
    while not hasattr(kernel, "__name__"):
        kernel = kernel.fn
    kernels[numbers] = UsersKernel(kernel.__name__, dict(table.get_constant_args(numbers[1])))


@dataclass(frozen=True)
class NodeRef:
    """The value of a node."""

    name: str


@dataclass(frozen=True)
class OperatorRef:
    """An operator of torch by its name, such as `aten.add.Tensor`.

    Without an overload, as in `aten.clone`, torch chooses one at the call.
    """

    name: str


@dataclass(frozen=True)
class HigherOrderRef:
    """A higher-order operator by its name, such as `flex_attention`."""

    name: str


@dataclass(frozen=True)
class CapturedNode:
    """One node: `target` is a reference for a call, else the name of an attribute or input."""

    name: str
    op: str
    target: Any
    args: Any
    kwargs: Any


def list_captured_nodes(graph: Any) -> tuple[CapturedNode, ...]:
    """The nodes of an FX graph in its order; a GPU's device is the CPU in them."""
    return tuple(
        CapturedNode(
            node.name,
            node.op,
            described(node.target) if node.op == "call_function" else node.target,
            described(node.args),
            described(node.kwargs),
        )
        for node in graph.nodes
    )


def described(value: Any) -> Any:
    """A part of a node without anything that belongs to this process."""
    if isinstance(value, torch.fx.Node):
        return NodeRef(value.name)
    operators = tp.OPS.get()
    if isinstance(value, operators.OpOverload | operators.OpOverloadPacket):
        return OperatorRef(str(value))  # Inductor's own graphs of scatters have such without one
    if isinstance(value, operators.HigherOrderOperator):
        return HigherOrderRef(str(value))
    if isinstance(value, torch.device | str) and is_gpu(value):  # a word as in `x.to("cuda")`
        return type(value)(CPU)
    if isinstance(value, tuple):
        return tuple(map(described, value))
    if isinstance(value, list):
        return [described(part) for part in value]
    if isinstance(value, Mapping):
        return {key: described(part) for key, part in value.items()}
    if isinstance(value, slice):
        return slice(described(value.start), described(value.stop), described(value.step))
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return str(value)
    return value


def filled(
    value: Any, values: Mapping[str, Any], change: Callable[[Any], Any] = lambda leaf: leaf
) -> Any:
    """What `described` described, with the values of nodes in it."""
    if isinstance(value, NodeRef):
        return values[value.name]
    if isinstance(value, tuple):
        return tuple(filled(part, values, change) for part in value)
    if isinstance(value, list):
        return [filled(part, values, change) for part in value]
    if isinstance(value, dict):
        return {key: filled(part, values, change) for key, part in value.items()}
    if isinstance(value, slice):
        ends = (value.start, value.stop, value.step)
        return slice(*(filled(part, values, change) for part in ends))
    return change(value)


@dataclass(frozen=True)
class LoopBody:
    """A loop nest over `sizes` (those of the reduction last); index expressions are Python text.

    Partial sums of a split reduction and copies with other strides are values of no node of the
    graph: the loops, which the kernel's code is generated from, are a reference for them.
    `blocks` holds the body under "" and the parts that a mask guards under their names; `indirect`
    are the sizes along which a loaded index counts from the end when it is negative.
    """

    sizes: tuple[tuple[int, ...], tuple[int, ...]]
    variables: tuple[str, ...]
    indices: Mapping[str, str]
    blocks: Mapping[str, tuple[CapturedNode, ...]]
    indirect: Mapping[str, str]


def read_layout(buffer: Any) -> TensorLike | None:
    """The layout of a buffer of Inductor; None where it is not known before the call."""
    layout = buffer.maybe_get_layout()
    sizes = (*layout.size, *layout.stride, layout.offset) if hasattr(layout, "stride") else ("?",)
    if not all(str(size).isdigit() for size in sizes):
        return None
    shape, stride = (tuple(int(n) for n in part) for part in (layout.size, layout.stride))
    return TensorLike(shape, stride, layout.dtype, offset=int(layout.offset))


def read_loop_body(snode: Any) -> LoopBody | None:
    """The loops of a scheduler node; None for a library call, or where a size is dynamic."""
    body = getattr(snode, "_body", None)
    if body is None or not all(str(n).isdigit() for part in body.sizes for n in part):
        return None
    text = tp.SYMPY_PRINTER.get()().doprint
    blocks = {"": list_captured_nodes(body.root_block.graph)}
    blocks.update((name, list_captured_nodes(part.graph)) for name, part in body.subblocks.items())
    iterated, reduced = (tuple(int(n) for n in part) for part in body.sizes)
    return LoopBody(
        sizes=(iterated, reduced),
        variables=tuple(str(name) for name in (*body.iter_vars, *body.reduce_vars)),
        indices={name: text(index) for name, index in body.indexing_exprs.items()},
        blocks=blocks,
        indirect={str(name): text(size) for name, size in body.indirect_var_ranges.items()},
    )

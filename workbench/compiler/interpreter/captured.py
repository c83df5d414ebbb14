"""The graphs that Inductor lowered, as plain data that another process can run.

Recorded in the process that compiles, for a device that is not there: the description names
operators and nodes, holds no tensors but constants, and says "cpu" for the device.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from workbench.compiler import torch_private as tp
from workbench.compiler.patches import Patches
from workbench.compiler.targets.program import NoProgram, Program

PANE = "captured_graphs"


@dataclass(frozen=True)
class NodeRef:
    """The value of a node."""

    name: str


@dataclass(frozen=True)
class OperatorRef:
    """An operator of torch by its name, such as `aten.add.Tensor`."""

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


@dataclass(frozen=True)
class Write:
    """A buffer that a kernel writes, and the node whose value it then holds.

    `buffer` is the variable of the program: for a mutation the one that is changed.
    """

    buffer: str
    node: str | None


@dataclass(frozen=True)
class UsersKernel:
    """A Triton kernel of the user in a graph: its name and the constants that it is given."""

    name: str
    constants: Mapping[str, Any]


@dataclass(frozen=True)
class CapturedGraph:
    """A graph in the order of its nodes; `writes` has a group for every kernel or library call."""

    nodes: tuple[CapturedNode, ...]
    is_backward: bool = False
    parts: Mapping[str, CapturedGraph] = field(default_factory=dict)
    constants: Mapping[str, torch.Tensor] = field(default_factory=dict)
    writes: tuple[tuple[Write, ...], ...] = ()
    kernels: Mapping[tuple[int, int], UsersKernel] = field(default_factory=dict)

    @property
    def targets(self) -> set[str]:
        """The names of the operators in it, those of its parts included."""
        named = {
            node.target.name
            for node in self.nodes
            if isinstance(node.target, OperatorRef | HigherOrderRef)
        }
        return named.union(*(part.targets for part in self.parts.values()))


class GraphKeeper:
    """Keeps every graph that is lowered while it is entered."""

    def __init__(self) -> None:
        self.graphs: list[CapturedGraph] = []
        self._patches = Patches()

    def __enter__(self) -> GraphKeeper:
        self._patches.__enter__()
        self._patches.observe(tp.LOG_POST_FUSION, PANE, before=self._keep)
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def added(self, program: Program | NoProgram) -> Program | NoProgram:
        """The program with the graphs; without them where something in them cannot be sent."""
        if isinstance(program, NoProgram) or self._patches.failed:
            return program
        try:
            return replace(program, graphs=pickle.dumps(tuple(self.graphs)))
        except (pickle.PicklingError, TypeError, AttributeError):
            return program

    def _keep(self, nodes: Any) -> None:
        graph = tp.VIRTUALIZED.get().graph
        if getattr(graph, "parent", None) is None:  # the parts of a graph are kept with it
            kept = captured(graph.module, is_backward=bool(graph.is_backward))
            writes = tuple(_writes(node, graph.scheduler) for node in nodes)
            self.graphs.append(replace(kept, writes=writes))


def _writes(node: Any, scheduler: Any) -> tuple[Write, ...]:
    found = []
    for output in node.get_outputs():
        name = output.get_name()
        origin = output.node.get_origin_node()
        for real in output.get_mutations() or (name,):
            root = scheduler.mutation_real_name.get(real, real)
            found.append(Write(root, None if origin is None else origin.name))
    return tuple(found)


def captured(module: Any, *, is_backward: bool = False) -> CapturedGraph:
    """A graph module as plain data."""
    parts: dict[str, CapturedGraph] = {}
    constants: dict[str, torch.Tensor] = {}
    kernels: dict[tuple[int, int], UsersKernel] = {}
    nodes = []
    for node in module.graph.nodes:
        if node.op == "get_attr":
            value = _attribute(module, node.target)
            if isinstance(value, torch.fx.GraphModule):
                parts[node.target] = captured(value)
            elif isinstance(value, torch.Tensor):
                constants[node.target] = value.detach().cpu()
        described = _described(node.target) if node.op == "call_function" else node.target
        if isinstance(described, HigherOrderRef) and "kernel_idx" in node.kwargs:
            _keep_kernel(node.kwargs, kernels)
        nodes.append(
            CapturedNode(
                node.name, node.op, described, _described(node.args), _described(node.kwargs)
            )
        )
    return CapturedGraph(tuple(nodes), is_backward, parts, constants, (), kernels)


def _keep_kernel(kwargs: Mapping[str, Any], kernels: dict[tuple[int, int], UsersKernel]) -> None:
    table = tp.KERNEL_SIDE_TABLE.get()
    numbers = kwargs["kernel_idx"], kwargs["constant_args_idx"]
    kernel = table.get_kernel(numbers[0])
    while not hasattr(kernel, "__name__"):
        kernel = kernel.fn
    kernels[numbers] = UsersKernel(kernel.__name__, dict(table.get_constant_args(numbers[1])))


def _attribute(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module


def _described(value: Any) -> Any:
    """A part of a node without anything that belongs to this process."""
    if isinstance(value, torch.fx.Node):
        return NodeRef(value.name)
    if isinstance(value, torch._ops.OpOverload):
        return OperatorRef(str(value))
    if isinstance(value, torch._ops.HigherOrderOperator):
        return HigherOrderRef(str(value))
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    if isinstance(value, tuple | list):
        return tuple(map(_described, value)) if isinstance(value, tuple) else [
            _described(part) for part in value
        ]  # fmt: skip
    if isinstance(value, Mapping):
        return {key: _described(part) for key, part in value.items()}
    if isinstance(value, slice):
        return slice(_described(value.start), _described(value.stop), _described(value.step))
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return str(value)
    return value


Resolve = Callable[[Any], Any]


def filled(value: Any, values: Mapping[str, Any], change: Resolve = lambda leaf: leaf) -> Any:
    """The argument that `_described` described, with the values of nodes in it."""
    if isinstance(value, NodeRef):
        return values[value.name]
    if isinstance(value, tuple):
        return tuple(filled(part, values, change) for part in value)
    if isinstance(value, list):
        return [filled(part, values, change) for part in value]
    if isinstance(value, dict):
        return {key: filled(part, values, change) for key, part in value.items()}
    if isinstance(value, slice):
        return slice(*(filled(part, values, change)
                       for part in (value.start, value.stop, value.step)))  # fmt: skip
    return change(value)

"""What Inductor lowers, as plain data for another process: nodes of graphs, loops of buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.device_kinds import CPU, is_gpu


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

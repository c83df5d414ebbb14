"""The nodes of a graph as plain data that another process can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp


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


def captured_nodes(graph: Any) -> tuple[CapturedNode, ...]:
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
    if isinstance(value, operators.OpOverload):
        return OperatorRef(str(value))
    if isinstance(value, operators.HigherOrderOperator):
        return HigherOrderRef(str(value))
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
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

"""Collectives among the nodes that Inductor lowered: which they are, what they move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.tensor_like import list_tensor_leaves
from workbench.compiler.recording.flops import evaluate_count

NAMESPACE = "_c10d_functional"
WAIT = "wait_tensor"


def unwrap_ordered(node: Any) -> tuple[Any, tuple[Any, ...], Mapping[str, Any]]:
    """Target, positional and named arguments of a node, also of one that torch only ordered.

    Where it schedules collectives, it puts an operator into a graph of its own, and that behind
    what has to come before: `control_deps((before, …), graph, *arguments)`.
    """
    if not is_ordered(node):
        return node.target, node.args, node.kwargs
    call = find_call(node)
    outer = dict(zip(call.graph.find_nodes(op="placeholder"), node.args[2:], strict=True))
    filled = torch.fx.node.map_arg((call.args, call.kwargs), lambda arg: outer.get(arg, arg))
    return call.target, filled[0], filled[1]


def find_call(node: Any) -> Any:
    """The node that calls the operator: itself, or that in the graph of one that is ordered."""
    if not is_ordered(node):
        return node
    graph = getattr(node.graph.owning_module, node.args[1].target).graph
    return next(inner for inner in graph.nodes if inner.op == "call_function")


def is_ordered(node: Any) -> bool:
    """Whether a node only orders what it calls."""
    return getattr(node.target, "__name__", "") == tp.CONTROL_DEPS


def list_nodes(given: Any) -> list[Any]:
    """The FX nodes among arguments, each once, in their order."""
    nodes: dict[Any, None] = {}
    torch.fx.node.map_arg(given, lambda node: nodes.setdefault(node))
    return list(nodes)


def is_collective(node: Any) -> bool:
    """Whether a node starts or awaits a collective."""
    called = name_call(unwrap_ordered(node)[0])
    return called is not None and called[0] == NAMESPACE


def find_ordering(module: Any) -> Iterator[tuple[Any, Any | None]]:
    """Nodes of the graphs that are only ordered, with the node that calls them; None for a name."""
    for node in filter(is_ordered, module.graph.nodes):
        yield node.args[1], None
        for inner in getattr(module, node.args[1].target).graph.nodes:
            yield inner, node


def find_called_node(node: Any, origins: Iterable[Any]) -> Any | None:
    """The FX node of a library call, among its origins, that calls what the library call does.

    A collective in place gives back its input: the wait for it is then the last FX node of the
    buffer, and torch names it as the origin of whatever made the input.
    """
    called = name_call(getattr(node, "op_overload", None))
    if called is None:
        return None
    fitting = [origin for origin in origins if name_call(origin.target) == called]
    return fitting[0] if len(fitting) == 1 else None


def count_collective_bytes(node: Any, origin: Any) -> tuple[int, int] | None:
    """Bytes that a collective reads and writes in its own memory; None for what is no collective.

    Inductor counts what it gives as read too, and a wait, which moves nothing, as both. `origin`
    is its FX node. None also where a size is not known.
    """
    called = name_call(getattr(node, "op_overload", None))
    if called is None or called[0] != NAMESPACE:
        return None
    if called[1] == WAIT:
        return 0, 0
    if origin is None or not origin.args:
        return None
    read_bytes = count_bytes(torch.fx.node.map_arg(origin.args[0], lambda arg: arg.meta.get("val")))
    written_bytes = count_bytes(origin.meta.get("val"))
    return None if read_bytes is None or written_bytes is None else (read_bytes, written_bytes)


def name_call(operator: Any) -> tuple[str, str] | None:
    """Namespace and name of an operator, the same for its forms in place and with `out=`."""
    if not isinstance(operator, tp.OPS.get().OpOverload):
        return None
    name = operator._schema.name.partition("::")[2]
    return operator.namespace, name.removesuffix("_out").removesuffix("_")


def count_bytes(value: Any) -> int | None:
    """Bytes of the tensors in a value; None without any, and where a size is not known."""
    tensors = list_tensor_leaves(value)
    counts = [evaluate_count(tensor.numel()) for tensor in tensors]
    if not tensors or None in counts:
        return None
    return sum(
        int(count or 0) * tensor.element_size()
        for count, tensor in zip(counts, tensors, strict=True)
    )

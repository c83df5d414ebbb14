"""Collectives among the nodes that Inductor lowered: which they are, what they move."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.recording.flops import evaluate_count

_NAMESPACE = "_c10d_functional"
WAIT = "wait_tensor"


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
    if called is None or called[0] != _NAMESPACE:
        return None
    if called[1] == WAIT:
        return 0, 0
    if origin is None or not origin.args:
        return None
    given = count_bytes(torch.fx.node.map_arg(origin.args[0], lambda arg: arg.meta.get("val")))
    made = count_bytes(origin.meta.get("val"))
    return None if given is None or made is None else (given, made)


def name_call(operator: Any) -> tuple[str, str] | None:
    """Namespace and name of an operator, the same for its forms in place and with `out=`."""
    if not isinstance(operator, tp.OPS.get().OpOverload):
        return None
    name = operator._schema.name.partition("::")[2]
    return operator.namespace, name.removesuffix("_out").removesuffix("_")


def count_bytes(value: Any) -> int | None:
    """Bytes of the tensors in a value; None without any, and where a size is not known."""
    tensors = [leaf for leaf in tp.TREE_LEAVES.get()(value) if isinstance(leaf, torch.Tensor)]
    counts = [evaluate_count(tensor.numel()) for tensor in tensors]
    if not tensors or None in counts:
        return None
    return sum(
        int(count or 0) * tensor.element_size()
        for count, tensor in zip(counts, tensors, strict=True)
    )

"""Tensors that are no buffers, and that a captured program writes into: no package keeps them."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.packaging.diagnosis import explain_refusal
from workbench.compiler.sources.sources import Places
from workbench.errors import CaptureError

KEEP = (
    "keep the value in a tensor: self.register_buffer('name', torch.zeros(())) and "
    "self.name.add_(1), which a package carries on; or take it as an input"
)
_UNKEPT = (
    "the line writes into a tensor that is no buffer of the model, and that the program reads: a "
    "package keeps up buffers alone, so the value of the capture would be used for ever"
)
_STATISTICS = ("running_mean", "running_var")  # torch's schemas of batch norm leave the writes out
_STATISTICS_FLAGS = ("train", "training", "use_input_stats")


def check_written(title: str, program: Any) -> None:
    """Raise `CaptureError` for tensors that the program writes into, but are no buffers.

    AOTInductor keeps no such tensor: for some of the writes it raises an assertion of its own.
    """
    if written := [*dict.fromkeys(_written(program))]:
        raise CaptureError(explain_refusal(title, written, _UNKEPT, KEEP))


def _written(program: Any) -> Iterator[str]:
    """The lines that write in place into a tensor from outside of the code, or a view of one.

    A tensor that is made in the code is copied in each call (`lift_fresh_copy`), and is no such.
    """
    signature = program.graph_signature.inputs_to_lifted_tensor_constants
    roots: set[Any] = set()
    storages: set[int] = set()
    places = Places()
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in signature:
            roots.add(node)
            storages |= _storages(node)
        if roots.isdisjoint(node.all_input_nodes):
            continue
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            if node.target is operator.getitem and _storages(node) & storages:
                roots.add(node)
            continue
        values = list(_given(node, schema))
        is_write = any(roots & set(_nodes(value)) for value in _targets(schema, values))
        if is_write and not str(node.target).startswith("aten.detach_"):  # which changes no value
            frame = places.innermost(node.meta.get("stack_trace") or "")
            where = "a tensor" if frame is None else f"{frame.file}:{frame.line}"
            yield f"{where} ({node.target} writes into it)"
        is_view = any(one.alias_info is not None for one in schema.returns)
        if is_view and (not _storages(node) or _storages(node) & storages):
            roots.add(node)


def _given(node: Any, schema: Any) -> Iterator[tuple[Any, Any]]:
    """Each argument of an operator that was given, with its value."""
    for index, argument in enumerate(schema.arguments):
        if index < len(node.args):
            yield argument, node.args[index]
        elif argument.name in node.kwargs:
            yield argument, node.kwargs[argument.name]


def _targets(schema: Any, given: Sequence[tuple[Any, Any]]) -> Iterator[Any]:
    """The arguments that are written into, also those of which torch's schema does not say so."""
    flags = {one.name: value for one, value in given}
    keeps = any(flags.get(name) is True for name in _STATISTICS_FLAGS)
    for argument, value in given:
        is_written = argument.alias_info is not None and argument.alias_info.is_write
        if is_written or (keeps and argument.name in _STATISTICS):
            yield value


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from _nodes(part)
    elif isinstance(value, torch.fx.Node):
        yield value


def _storages(node: Any) -> set[int]:
    """The memory of what a node gives: fake tensors share it as the real ones do."""
    value = node.meta.get("val")
    values = value if isinstance(value, list | tuple) else (value,)
    return {
        tp.storage_of(one)
        for one in values
        if isinstance(one, torch.Tensor) and one.layout is torch.strided
    }

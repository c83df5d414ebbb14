"""The quick test of a call as one Python expression over its leaves: `_wb_v0`, `_wb_v1`, etc."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.contract.contract import Leaf
from workbench.compiler.contract.dims import Dynamic
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.running.checking import (
    CallContract,
    constant_of,
    fits_layout,
    is_contiguous,
    is_dynamic,
)


@dataclass(frozen=True)
class FastContractCheck:
    """An expression that is true only for a call that fits, with the names that it uses."""

    expression: str
    scope: Mapping[str, Any]


def fast_contract_check(contract: CallContract) -> FastContractCheck:
    """The test of a contract."""
    scope: dict[str, Any] = {}
    tests = [*_tensors(contract, scope)]
    for index, leaf in enumerate(contract.leaves):
        if leaf.kind != "tensor":
            tests.append(_constant(index, leaf, scope))
        elif is_dynamic(leaf):
            tests.append(_layout(index, leaf, scope))
    names: dict[str, str] = {}
    for index, leaf in enumerate(contract.leaves):
        for axis, size in enumerate(leaf.shape):
            if isinstance(size, Dynamic) and leaf.kind == "tensor":
                tests.extend(_size(f"_wb_v{index}.size({axis})", size, names))
    for relation in contract.relations:
        tree = ast.parse(relation.source, mode="eval")
        tests.append(f"({ast.unparse(_Renamed(names).visit(tree))})")
    return FastContractCheck(" and ".join(tests) or "True", scope)


def _tensors(contract: CallContract, scope: dict[str, Any]) -> Iterator[str]:
    places = contract.tensors
    if not places:
        return
    leaves = [contract.leaves[index] for index in places]
    guard = tp.TENSOR_GUARDS.get()(
        *[_like(leaf, contract.device) for leaf in leaves],
        dynamic_dims_sizes=[[s if isinstance(s, int) else None for s in f.shape] for f in leaves],
        dynamic_dims_strides=[
            [None] * len(f.stride) if is_dynamic(f) else list(f.stride) for f in leaves
        ],
    )
    scope["_wb_tensors"] = guard.check
    yield f"_wb_tensors({', '.join(f'_wb_v{index}' for index in places)})"


def _like(leaf: Leaf, device: torch.device) -> torch.Tensor:
    """A tensor of the same kind; its sizes are given apart, so that it takes no memory."""
    at = device if leaf.device == device.type else torch.device(leaf.device)
    return torch.empty((1,) * len(leaf.shape), dtype=getattr(torch, leaf.dtype), device=at)


def _constant(index: int, leaf: Leaf, scope: dict[str, Any]) -> str:
    value, known = constant_of(leaf)
    if not known:
        return "False"  # looked at slowly
    if value is None or isinstance(value, bool):
        return f"_wb_v{index} is {value!r}"
    scope[f"_wb_c{index}"], scope[f"_wb_t{index}"] = value, type(value)
    return f"type(_wb_v{index}) is _wb_t{index} and _wb_v{index} == _wb_c{index}"


def _layout(index: int, leaf: Leaf, scope: dict[str, Any]) -> str:
    if is_contiguous(leaf):
        return f"_wb_v{index}.is_contiguous()"
    scope["_wb_fits"], scope[f"_wb_f{index}"] = fits_layout, leaf
    return f"_wb_fits(_wb_f{index}, _wb_v{index})"


def _size(size: str, dim: Dynamic, names: dict[str, str]) -> Iterator[str]:
    if dim.name is None:
        low, high = dim.min or 0, dim.max
        if low > 0 or high is not None:
            yield f"{low} <= {size}" + (f" <= {high}" if high is not None else "")
        return
    known = names.get(dim.name)
    if known is not None:
        yield f"{size} == " + _affine(known, dim)
        return
    name = names[dim.name] = f"_wb_d{len(names)}"
    low = max(dim.min or 0, 0)
    found = f"({name} := {size})"
    if (dim.scale, dim.offset) != (1, 0):
        yield f"({size} - {dim.offset}) % {dim.scale} == 0"
        found = f"({name} := ({size} - {dim.offset}) // {dim.scale})"
    yield f"{low} <= {found}" + (f" <= {dim.max}" if dim.max is not None else "")


def _affine(name: str, dim: Dynamic) -> str:
    scaled = name if dim.scale == 1 else f"{dim.scale} * {name}"
    return scaled if not dim.offset else f"{scaled} + {dim.offset}"


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)

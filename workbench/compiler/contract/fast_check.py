"""The fast check of a call: one expression, generated from what each leaf of it has to be.

It accepts only what fits. What it does not accept is looked at slowly, which finds what is wrong,
or that the difference does not matter.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from workbench.compiler.calls.call_path import FastCheck, write_constant_test
from workbench.compiler.contract.contract import CONSTANTS, Leaf
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.sizes.dims import Dynamic, write_size_tests

if TYPE_CHECKING:  # imported for contracts that have such: a package starts in milliseconds
    from workbench.compiler.contract.shared_memory import SharedMemory
    from workbench.compiler.sizes.dims import Relation

_NEVER = "False"  # looked at slowly


def is_dynamic(leaf: Leaf) -> bool:
    """Whether a leaf has a dimension whose size is not fixed."""
    return any(isinstance(size, Dynamic) for size in leaf.shape)


def order_of(leaf: Leaf) -> tuple[int, ...] | None:
    """The dimensions from the outermost in memory to the innermost, or None with gaps between."""
    order = sorted(range(len(leaf.stride)), key=lambda i: (-leaf.stride[i], -leaf.sizes[i], i))
    expected = 1
    for index in reversed(order):
        if leaf.sizes[index] != 1 and leaf.stride[index] != expected:
            return None
        expected *= leaf.sizes[index]
    return tuple(order)


def laid_out(leaf: Leaf, value: torch.Tensor) -> torch.Tensor:
    """The same values in the memory order of the example, where that has no gaps."""
    order = order_of(leaf)
    if order is None or value.dim() != len(order):
        return value
    made = torch.empty_permuted(value.shape, order, dtype=value.dtype, device=value.device)
    return value if made.stride() == value.stride() else made.copy_(value)


def is_contiguous(leaf: Leaf) -> bool:
    """Whether the example was contiguous."""
    order = order_of(leaf)
    wide = None if order is None else [i for i in order if leaf.sizes[i] != 1]
    return wide is not None and wide == sorted(wide)


def match_layout(leaf: Leaf, value: torch.Tensor) -> bool:
    """Whether a tensor lies in memory as the example did; dimensions of size 1 lie anywhere."""
    if value.numel() == 0:
        return True
    if not is_dynamic(leaf):
        return _same_strides(leaf.stride, value)
    if is_contiguous(leaf):
        return value.is_contiguous()
    order = order_of(leaf)
    if order is not None:
        return value.permute(order).is_contiguous()
    return _same_strides(leaf.stride, value)


def _same_strides(wanted: Sequence[int], value: torch.Tensor) -> bool:
    return all(
        size == 1 or stride == given
        for size, stride, given in zip(value.shape, wanted, value.stride(), strict=True)
    )


def describe_layout(leaf: Leaf) -> str:
    """The layout as people say it."""
    if is_contiguous(leaf):
        return "a contiguous tensor"
    order = order_of(leaf)
    if is_dynamic(leaf) and order is not None:
        return f"memory in the order of dimensions {list(order)}"
    return f"stride {list(leaf.stride)}"


def build_fast_check(
    named: Mapping[str, Leaf],
    modes: Callable[[], int],
    *,
    device: torch.device | None = None,
    learns: bool = False,
    relations: Sequence[Relation] = (),
    memory: SharedMemory | None = None,
) -> FastCheck:
    """The check of leaves by the names that they have in the call.

    One C++ call of torch's guards looks at classes, dtypes, devices, fixed sizes and strides; then
    come constants, dynamic sizes and what is around the call: `modes` counts the modes that
    follow it. Where it `learns`, the gradients that tensors ask for count.
    """
    scope: dict[str, Any] = {}
    tensors = {name: leaf for name, leaf in named.items() if leaf.kind == "tensor"}
    tests = [_write_tensor_test(tensors, device, learns, scope)] if tensors else []
    for name, leaf in named.items():
        if leaf.kind != "tensor":
            tests.append(_write_constant(name, leaf, scope))
        elif is_dynamic(leaf):
            tests.append(_write_layout(name, leaf, scope))
    sizes: dict[str, str] = {}
    places = (
        (f"{name}.size({axis})", size)
        for name, leaf in tensors.items()
        for axis, size in enumerate(leaf.shape)
        if isinstance(size, Dynamic)
    )
    tests += write_size_tests(places, sizes)
    tests += [relation.write_test(sizes) for relation in relations]
    if memory is not None:
        scope["_wb_memory"] = memory.holds
        tests.append(f"_wb_memory([{', '.join(tensors)}])")
    if tensors:
        scope["_wb_ad"], scope["_wb_modes"] = tp.FORWARD_AD.get(), modes
        tests.append("_wb_ad._current_level < 0 and _wb_modes() == 0")
    return FastCheck(" and ".join(tests) or "True", scope, [*tensors])


def _write_tensor_test(
    tensors: Mapping[str, Leaf], device: torch.device | None, learns: bool, scope: dict[str, Any]
) -> str:
    leaves = list(tensors.values())
    likes = [_make_like(leaf, device) for leaf in leaves]
    for leaf, like in zip(leaves, likes, strict=True):
        like.requires_grad_(learns and leaf.requires_grad)
    guard = tp.TENSOR_GUARDS.get()(
        *likes,
        dynamic_dims_sizes=[[s if isinstance(s, int) else None for s in f.shape] for f in leaves],
        dynamic_dims_strides=[
            [None] * len(f.stride) if is_dynamic(f) else list(f.stride) for f in leaves
        ],
    )
    scope["_wb_tensors"] = guard.check
    return f"_wb_tensors({', '.join(tensors)})"


def _make_like(leaf: Leaf, device: torch.device | None) -> torch.Tensor:
    """A tensor of the same kind; its sizes are given apart, so that it takes no memory."""
    is_there = device is not None and leaf.device == device.type
    at = device if is_there else torch.device(leaf.device)
    return torch.empty((1,) * len(leaf.shape), dtype=getattr(torch, leaf.dtype), device=at)


def _write_constant(name: str, leaf: Leaf, scope: dict[str, Any]) -> str:
    try:
        value = ast.literal_eval(leaf.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _NEVER
    if not isinstance(value, CONSTANTS) or type(value).__name__ != leaf.type:
        return _NEVER
    return write_constant_test(name, value, scope)


def _write_layout(name: str, leaf: Leaf, scope: dict[str, Any]) -> str:
    if is_contiguous(leaf):
        return f"{name}.is_contiguous()"
    number = len(scope)
    scope["_wb_fits"], scope[f"_wb_f{number}"] = match_layout, leaf
    return f"_wb_fits(_wb_f{number}, {name})"

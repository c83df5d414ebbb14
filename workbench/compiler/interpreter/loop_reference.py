"""Computes a buffer from its loop nest with torch, all iterations at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from workbench.compiler.captured_graphs.captured_nodes import CapturedNode, LoopBody, filled
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.interpreter.device_operators import random

MOST = 1 << 26  # iterations; a larger nest is not computed
_HALVES = (torch.float16, torch.bfloat16)
_WIDE = {torch.float16: torch.float32, torch.bfloat16: torch.float32}

Flat = Callable[[str], Tensor]
"""The name of a buffer → its storage as one dimension."""


class LoopsNotComputed(Exception):
    """A loop nest that there is no reference for, and why."""


def flattened(value: Tensor, layout: TensorLike) -> Tensor:
    """A value as it lies in a storage of this layout."""
    length = layout.offset + 1 + sum(
        (n - 1) * s for n, s in zip(layout.shape, layout.stride, strict=True)
    )  # fmt: skip
    flat = torch.zeros(max(length, 1), dtype=value.dtype)
    if value.numel():
        seen = flat.as_strided(layout.shape, layout.stride, layout.offset)
        seen.copy_(value.reshape(layout.shape))
    return flat


def computed(
    name: str, body: LoopBody, layout: TensorLike, flat: Flat, each: int | None = 1
) -> Tensor:
    """The value of a buffer; raises `LoopsNotComputed` for loops with other operators.

    `each` is how many random numbers of one draw are taken, None where that is not known.
    """
    if math.prod((*body.sizes[0], *body.sizes[1])) > MOST:
        raise LoopsNotComputed("its loops are too long")
    return _Loops(name, body, layout, flat, each).value()


class _Loops:
    def __init__(self, name: str, body: LoopBody, layout: TensorLike, flat: Flat, each: int | None):
        self._name = name
        self._body = body
        self._layout = layout
        self._flat = flat
        self._each = each
        self._shape = (*body.sizes[0], *body.sizes[1])
        self._indirect: dict[str, Tensor] = {}
        self._out: Tensor | None = None

    def value(self) -> Tensor:
        self._block("")
        if self._out is None:
            raise LoopsNotComputed("its loops store nothing")
        layout = self._layout
        return self._out.as_strided(layout.shape, layout.stride, layout.offset)

    def _block(self, name: str) -> Any:
        values: dict[str, Any] = {}
        for node in self._body.blocks[name]:
            if node.op == "output":
                return filled(node.args, values)[0] if node.args else None
            values[node.name] = None if node.op == "placeholder" else self._node(node, values)
        return None

    def _node(self, node: CapturedNode, values: Mapping[str, Any]) -> Any:
        args = filled(node.args, values)
        kwargs = filled(node.kwargs, values)
        if node.op == "call_function":
            return node.target(*args, **kwargs)
        if node.op == "call_module":
            return self._part(str(node.target), args)
        own = getattr(self, f"_op_{node.target}", None)
        if own is not None:
            return own(*args[1:], **kwargs)
        target = str(node.target)
        function = _OPERATORS.get(target) or getattr(torch, target, None)
        if function is None or target in _OTHERWISE:
            raise LoopsNotComputed(f"its loops use {target}")
        tensors = [torch.as_tensor(arg) for arg in args[1:]]
        return function(*tensors, **kwargs)

    def _part(self, target: str, args: tuple[Any, ...]) -> Any:
        if target == "get_index":
            return self._index(self._body.indices[args[0]])
        if target.startswith("set_"):
            name = target.removeprefix("set_")
            size = self._index(self._body.indirect[name])
            self._indirect[name] = torch.where(args[0] < 0, args[0] + size, args[0])
            return None
        if target in self._body.blocks:
            mask, other = args
            inner = torch.as_tensor(self._block(target))
            return torch.where(mask, inner, torch.as_tensor(other, dtype=inner.dtype))
        raise LoopsNotComputed(f"its loops use {target}")

    def _index(self, text: str) -> Any:
        scope: dict[str, Any] = {"Identity": lambda part: part}
        for axis, name in enumerate(self._body.variables):
            shape = [1] * len(self._shape)
            shape[axis] = -1
            scope[name] = torch.arange(self._shape[axis]).reshape(shape)
        try:
            return eval(text, scope, dict(self._indirect))
        except (NameError, SyntaxError, TypeError) as error:
            raise LoopsNotComputed(f"its loops use the index {text}") from error

    def _everywhere(self, value: Any, shape: tuple[int, ...]) -> Tensor:
        return torch.as_tensor(value).expand(shape)

    # operators that know of the loops
    def _op_load(self, name: str, index: Any) -> Tensor:
        flat = self._flat(name)
        places = torch.as_tensor(index).clamp(0, len(flat) - 1)  # a mask guards what lies outside
        elements = flat[places]
        return elements.float() if elements.dtype in _HALVES else elements

    def _op_load_seed(self, name: str, index: int) -> Tensor:
        return self._flat(name)[index]

    def _op_rand(self, seed: Tensor, index: Tensor) -> Tensor:
        return self._drawn(seed, index, "rand")

    def _op_randn(self, seed: Tensor, index: Tensor) -> Tensor:
        return self._drawn(seed, index, "randn")

    def _drawn(self, seed: Tensor, index: Tensor, mode: str) -> Tensor:
        if self._each is None:
            raise LoopsNotComputed("kernels of its program draw random numbers in two ways")
        return random((int(index.max()) + 1,), seed, mode, each=self._each)[index]

    def _op_constant(self, value: Any, dtype: torch.dtype) -> Tensor:
        return torch.tensor(value, dtype=_WIDE.get(dtype, dtype))

    def _op_index_expr(self, index: Any, dtype: torch.dtype) -> Tensor:
        return torch.as_tensor(index).to(_WIDE.get(dtype, dtype))

    _op_value_expr = _op_index_expr

    def _op_to_dtype(self, value: Tensor, dtype: torch.dtype, *_: Any, **__: Any) -> Tensor:
        return value.to(_WIDE.get(dtype, dtype))

    def _op_check_bounds(self, /, *_: Any, **__: Any) -> None:
        """Nothing: the loads of a reference stay inside."""

    def _op_store(self, name: str, index: Any, value: Any, mode: str | None = None) -> None:
        if name != self._name:
            return
        if mode is not None:
            raise LoopsNotComputed("its loops add to what is there")
        self._put(index, self._everywhere(value, self._shape), self._shape)

    def _op_store_reduction(self, name: str, index: Any, value: Tensor) -> None:
        if name == self._name:
            shape = (*self._body.sizes[0], *(1 for _ in self._body.sizes[1]))
            self._put(index, self._everywhere(value, shape), shape)

    def _put(self, index: Any, values: Tensor, shape: tuple[int, ...]) -> None:
        places = self._everywhere(index, shape).reshape(-1)
        length = int(places.max()) + 1 if places.numel() else 1
        self._out = torch.zeros(length, dtype=self._layout.dtype)
        self._out[places] = values.reshape(-1).to(self._layout.dtype)

    def _op_reduction(
        self, dtype: torch.dtype, src_dtype: torch.dtype, kind: str, value: Any
    ) -> Any:
        axes = tuple(range(len(self._body.sizes[0]), len(self._shape)))
        parts = value if isinstance(value, tuple) else (value,)
        whole = tuple(self._everywhere(part, self._shape) for part in parts)
        reduce = _REDUCTIONS.get(kind)
        if reduce is None:
            raise LoopsNotComputed(f"its loops reduce by {kind}")
        return reduce(whole, axes)


Accumulators = tuple[Tensor, ...]
Axes = tuple[int, ...]


def _over_one(method: str) -> Callable[[Accumulators, Axes], Tensor]:
    """A reduction that torch has along one axis only: the reduced axes are the last ones."""

    def reduce(parts: Accumulators, axes: Axes) -> Tensor:
        kept = parts[0].shape[: parts[0].ndim - len(axes)]
        reduced: Tensor = getattr(parts[0].reshape(*kept, -1), method)(-1)
        return reduced.reshape(*kept, *(1 for _ in axes))

    return reduce


def _sum(parts: Accumulators, axes: Axes) -> Tensor:
    value = parts[0].double() if parts[0].is_floating_point() else parts[0]
    return value.sum(axes, keepdim=True).to(parts[0].dtype)


def _welford(parts: Accumulators, axes: Axes) -> Accumulators:
    value = parts[0].double()
    mean = value.mean(axes, keepdim=True)
    squares = (value - mean).square().sum(axes, keepdim=True)
    count = torch.tensor(float(math.prod(value.shape[axis] for axis in axes)))
    return mean.float(), squares.float(), count.expand(mean.shape)


def _welford_combined(parts: Accumulators, axes: Axes) -> Accumulators:
    mean, squares, count = (part.double() for part in parts)
    total = count.sum(axes, keepdim=True)
    joined = (mean * count).sum(axes, keepdim=True) / total
    spread = squares + count * (mean - joined).square()
    return joined.float(), spread.sum(axes, keepdim=True).float(), total.float()


def _online_softmax(parts: Accumulators, axes: Axes) -> Accumulators:
    most = parts[0].amax(axes, keepdim=True)
    weights = torch.ones_like(parts[0]) if len(parts) == 1 else parts[1]
    total = (weights.double() * (parts[0].double() - most).exp()).sum(axes, keepdim=True)
    return most, total.to(most.dtype)


_REDUCTIONS: Mapping[str, Callable[[Accumulators, Axes], Any]] = {
    "sum": _sum,
    "max": lambda parts, axes: parts[0].amax(axes, keepdim=True),
    "min": lambda parts, axes: parts[0].amin(axes, keepdim=True),
    **{method: _over_one(method) for method in ("prod", "any", "argmax", "argmin")},
    "welford_reduce": _welford,
    "welford_combine": _welford_combined,
    "online_softmax_reduce": _online_softmax,
}
_OTHERWISE = frozenset({"bucketize", "dot", "masked", "sort"})
"""Operators of loops that torch has under the same name with other arguments (torch 2.13)."""
_OPERATORS: Mapping[str, Callable[..., Any]] = {
    "truediv": torch.true_divide,
    "floordiv": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "truncdiv": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "mod": torch.fmod,
    "identity": lambda value: value,
    "and_": torch.logical_and,
    "or_": torch.logical_or,
    "invert": torch.bitwise_not,
    "libdevice_exp": torch.exp,
    "relu": torch.relu,
}

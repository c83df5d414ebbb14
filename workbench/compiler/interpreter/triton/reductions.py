"""Reductions and scans of a whole batch at once, in logarithmically many steps.

Triton's own interpreter combines elements one after the other in Python. The order of a sum is
another one here, as it is on every GPU.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as stock
from triton.runtime.interpreter import TensorHandle, _get_np_dtype

from workbench.compiler.interpreter.triton.kernel_logic import BlockDecides

Array = np.ndarray[Any, Any]
Tensors = tuple[Any, ...]


class DivergentError(Exception):
    """Programs of one batch want to go different ways; `values` has one for each of them."""

    def __init__(self, values: Any):
        super().__init__("the program instances of a batch take different branches")
        self.values = values


def reduce(input: Any, axis: int | None, combine_fn: Any, keep_dims: bool = False, **_: Any) -> Any:
    """`tl.reduce`: all elements along an axis of the block (or all of it) combined."""
    stock.interpreter_builder.handovers += 1
    single = not isinstance(input, tuple)
    parts: Tensors = (input,) if single else input
    axis, keep_dims = _plain(axis), bool(_plain(keep_dims))
    rank = len(parts[0].shape)
    arrays = [part.handle.data for part in parts]
    if axis is None:
        arrays = [array.reshape(len(array), -1) for array in arrays]
    place = 1 if axis is None else 1 + int(axis) % rank
    dtypes = [part.dtype for part in parts]
    reduced = _halved(_same_batch(arrays), place, dtypes, combine_fn)
    if not keep_dims:
        reduced = [array.squeeze(place) for array in reduced]
    elif axis is None:
        reduced = [array.reshape(len(array), *(1,) * rank) for array in reduced]
    return _made(reduced, dtypes, single=single)


def scan(input: Any, axis: int, combine_fn: Any, reverse: bool = False, **_: Any) -> Any:
    """`tl.associative_scan`: what `reduce` gives for every prefix."""
    stock.interpreter_builder.handovers += 1
    single = not isinstance(input, tuple)
    parts: Tensors = (input,) if single else input
    place = 1 + int(_plain(axis)) % len(parts[0].shape)
    dtypes = [part.dtype for part in parts]
    arrays = _same_batch([part.handle.data for part in parts])
    backwards = bool(_plain(reverse))
    if backwards:
        arrays = [np.flip(array, place) for array in arrays]
    step = 1
    while step < arrays[0].shape[place]:
        # blocks have lengths that are powers of 2, so both sides stay whole and the start is kept
        before = [np.roll(array, step, place) for array in arrays]
        combined = _combined(before, arrays, dtypes, combine_fn)
        head = _along(place, slice(0, step))
        for array, new in zip(arrays, combined, strict=True):
            new[head] = array[head]
        arrays = combined
        step *= 2
    if backwards:
        arrays = [np.flip(array, place) for array in arrays]
    return _made(arrays, dtypes, single=single)


def _made(arrays: Sequence[Array], dtypes: Sequence[Any], *, single: bool) -> Any:
    tensors = tuple(map(tensor_of, arrays, dtypes))
    return tensors[0] if single else tensors


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


def _along(place: int, part: slice) -> tuple[slice, ...]:
    return (*(slice(None),) * place, part)


def _same_batch(arrays: Sequence[Array]) -> list[Array]:
    return [np.array(array) for array in np.broadcast_arrays(*arrays)]


def _halved(arrays: list[Array], place: int, dtypes: Sequence[Any], combine_fn: Any) -> list[Array]:
    while (length := arrays[0].shape[place]) > 1:
        half = length // 2
        halves = (_along(place, slice(0, half)), _along(place, slice(half, 2 * half)))
        left, right = ([array[part] for array in arrays] for part in halves)
        arrays = _combined(left, right, dtypes, combine_fn)
    return arrays


_PLAIN = ("fp16", "fp32", "fp64", "int32", "int64", "uint32", "uint64")
_QUICK: dict[str, Callable[[Array, Array], Array]] = {
    "_sum_combine": np.add,
    "_elementwise_max": np.fmax,
    "_elementwise_min": np.fmin,
}


def _combined(
    left: list[Array], right: list[Array], dtypes: Sequence[Any], combine_fn: Any
) -> list[Array]:
    """The combination, by Triton's own function unless it is one of a few plain ones."""
    dtype = dtypes[0]
    is_tritons = combine_fn.fn.__module__ == tl.standard.__name__
    quick = _QUICK.get(combine_fn.__name__) if is_tritons else None
    if quick is not None and len(left) == 1 and dtype.scalar.name in _PLAIN:
        stock.interpreter_builder.count(dtype, left[0])
        return [quick(left[0], right[0]).astype(left[0].dtype, copy=False)]
    try:
        return _combine_blocks(left, right, dtypes, combine_fn)
    except BlockDecides:
        return _combine_scalars(left, right, dtypes, combine_fn)


def _combine_blocks(
    left: Sequence[Array], right: Sequence[Array], dtypes: Sequence[Any], combine_fn: Any
) -> list[Array]:
    combination = combine_fn(*map(tensor_of, [*left, *right], [*dtypes, *dtypes]))
    parts = combination if isinstance(combination, tuple) else (combination,)
    return [
        np.array(np.broadcast_to(part.handle.data, old.shape), dtype=old.dtype)
        for part, old in zip(parts, left, strict=True)
    ]


def _combine_scalars(
    left: Sequence[Array], right: Sequence[Array], dtypes: Sequence[Any], combine_fn: Any
) -> list[Array]:
    """For a function that branches: it is written for two elements, each pair goes its own way.

    Pairs stand for programs of a batch, so that those of one way are combined at once.
    """
    builder, rest = stock.interpreter_builder, left[0].shape[1:]
    count = max(len(left[0]), builder.batch)  # each program counts its own operations
    whole = [np.broadcast_to(part, (count, *rest)).reshape(-1) for part in (*left, *right)]
    combined = [np.empty(count * math.prod(rest), part.dtype) for part in left]
    waiting = [np.arange(len(combined[0]))]
    while waiting:
        which, counted = waiting.pop(), Counter(builder.operations)
        pairs = [part[which] for part in whole]
        try:
            parts = _combine_blocks(pairs[: len(left)], pairs[len(left) :], dtypes, combine_fn)
        except DivergentError as parted:
            builder.operations = counted
            ways = np.broadcast_to(parted.values, which.shape)
            waiting += [which[ways == way] for way in np.unique(ways)]
            continue
        for new, part in zip(combined, parts, strict=True):
            new[which] = part
    return [part.reshape(count, *rest) for part in combined]


def tensor_of(array: Array, dtype: Any) -> Any:
    """A Triton tensor; the first axis of the array are programs."""
    scalar, shape = dtype.scalar, list(array.shape[1:])
    held = TensorHandle(np.asarray(array, dtype=_get_np_dtype(scalar)), scalar)
    return tl.core.tensor(held, tl.block_type(scalar, shape) if shape else scalar)

"""Operators of Triton's interpreter that change the shape of a block, for many programs at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as stock

from workbench.compiler.interpreter.triton.batched_builder import BatchedBuilder
from workbench.compiler.interpreter.triton.number_formats import decode

Array = np.ndarray[Any, Any]
Handle = Any  # triton.runtime.interpreter.TensorHandle


class BlockBuilder(BatchedBuilder):
    """All operators: those element by element and those that change the shape."""

    def create_make_range(self, ret_ty: Any, start: int, stop: int) -> Handle:
        return stock.TensorHandle(np.arange(start, stop, dtype=np.int32)[None], tl.int32)

    def create_splat(self, ret_ty: Any, arg: Handle) -> Handle:
        rows = arg.data.reshape((-1,) + (1,) * len(ret_ty.shape))
        data = np.broadcast_to(rows, (len(rows), *ret_ty.shape))
        return stock.TensorHandle(data, arg.dtype.scalar)

    def create_unsplat(self, arg: Handle) -> Handle:
        return stock.TensorHandle(arg.data.reshape(-1), arg.dtype.scalar)

    def create_reshape(self, arg: Handle, shape: Sequence[int], allow_reorder: bool) -> Handle:
        return stock.TensorHandle(arg.data.reshape((-1, *shape)), arg.dtype.scalar)

    def create_trans(self, arg: Handle, perm: Sequence[int]) -> Handle:
        axes = (0, *(axis + 1 for axis in perm))
        return stock.TensorHandle(np.transpose(arg.data, axes), arg.dtype.scalar)

    def create_expand_dims(self, arg: Handle, axis: int) -> Handle:
        return stock.TensorHandle(np.expand_dims(arg.data, axis + 1), arg.dtype.scalar)

    def create_broadcast(self, arg: Handle, shape: Sequence[int]) -> Handle:
        return stock.TensorHandle(
            np.broadcast_to(arg.data, (len(arg.data), *shape)), arg.dtype.scalar
        )

    def create_cat(self, lhs: Handle, rhs: Handle) -> Handle:
        return stock.TensorHandle(np.concatenate(_level(lhs, rhs), axis=1), lhs.dtype.scalar)

    def create_join(self, lhs: Handle, rhs: Handle) -> Handle:
        return stock.TensorHandle(np.stack(_level(lhs, rhs), axis=-1), lhs.dtype.scalar)

    def create_gather(self, src: Handle, indices: Handle, axis: int) -> Handle:
        count = max(len(src.data), len(indices.data))
        values, places = (
            np.broadcast_to(part.data, (count, *part.data.shape[1:])) for part in (src, indices)
        )
        return stock.TensorHandle(
            np.take_along_axis(values, places, axis=axis + 1), src.dtype.scalar
        )

    def create_histogram(self, data: Handle, bins: int, mask: Handle | None) -> Handle:
        rows = data.data.reshape(len(data.data), -1)
        use = np.ones((1, 1), dtype=bool) if mask is None else mask.data.reshape(len(mask.data), -1)
        pairs = zip(rows, np.broadcast_to(use, rows.shape), strict=True)
        counted = [np.bincount(row[valid], minlength=bins)[:bins] for row, valid in pairs]
        return stock.TensorHandle(np.array(counted, dtype=np.int32), tl.int32)

    def create_dot(self, a: Handle, b: Handle, d: Handle, *_: Any) -> Handle:
        wide = d.data.dtype
        left, right = (decode(part.data, part.dtype).astype(wide, copy=False) for part in (a, b))
        return stock.TensorHandle((np.matmul(left, right) + d.data).astype(wide), d.dtype.scalar)

    def create_assert(self, condition: Handle, message: str) -> None:
        if not np.all(condition.data):
            raise AssertionError(message)

    def create_assume(self, condition: Handle) -> None:
        if not np.all(condition.data):
            raise AssertionError("what tl.assume promises does not hold")


def _level(lhs: Handle, rhs: Handle) -> list[Array]:
    """Both with the same number of programs."""
    count = max(len(lhs.data), len(rhs.data))
    return [np.broadcast_to(part.data, (count, *part.data.shape[1:])) for part in (lhs, rhs)]

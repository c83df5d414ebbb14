"""Tiles of a tensor by block pointers and tensor descriptors, one for each program of a batch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as stock
from triton.runtime.interpreter import TensorHandle

Array = np.ndarray[Any, Any]
Handle = Any  # triton.runtime.interpreter.TensorHandle


@dataclass(frozen=True)
class Tile:
    """What Triton's interpreter has for both, which knows one program only.

    `offsets` are those of a block pointer; a descriptor is given them with every access.
    """

    base: Handle
    shape: Sequence[Handle]
    strides: Sequence[Handle]
    block_shape: Sequence[int]
    offsets: Sequence[Handle] = ()
    padding: Any = None

    def reach(
        self, offsets: Sequence[Handle], checked: Collection[int] | None = None
    ) -> tuple[Handle, Handle]:
        """Addresses of the tile at `offsets`, and where it lies within the `checked` axes."""
        rank = len(self.block_shape)
        lanes = [
            np.arange(width).reshape([1] + [width if n == axis else 1 for n in range(rank)])
            for axis, width in enumerate(self.block_shape)
        ]
        places = [_widen(o.data, rank) + lane for o, lane in zip(offsets, lanes, strict=True)]
        return self.reach_each(places, checked)

    def reach_rows(self, rows: Handle, column: Handle) -> tuple[Handle, Handle]:
        """Addresses of the rows that are named, each from `column` on."""
        places = rows.data.reshape(-1, rows.data.shape[-1], 1)
        return self.reach_each([places, _widen(column.data, 2) + np.arange(self.block_shape[-1])])

    def reach_each(
        self, places: Sequence[Array], checked: Collection[int] | None = None
    ) -> tuple[Handle, Handle]:
        """Addresses of elements by their places on each axis, a batch of them."""
        rank = places[0].ndim - 1
        size = self.base.dtype.element_ty.primitive_bitwidth // 8
        addresses = _widen(self.base.data, rank)
        inside: Array = np.ones((1,) * (rank + 1), dtype=bool)
        for axis, place in enumerate(places):
            stride = _widen(self.strides[axis].data, rank).astype(np.int64)
            addresses = addresses + (size * place.astype(np.int64) * stride).astype(np.uint64)
            if checked is None or axis in checked:
                inside = inside & (place >= 0) & (place < _widen(self.shape[axis].data, rank))
        pointers, mask = np.broadcast_arrays(addresses, inside)
        return TensorHandle(pointers, self.base.dtype.scalar), TensorHandle(mask, tl.int1)


def _widen(data: Array, rank: int) -> Array:
    """A number for each program, to be combined with blocks of so many axes."""
    return np.asarray(data).reshape((-1,) + (1,) * rank)


class TileBuilder(stock.InterpreterBuilder):  # type: ignore[misc]  # triton has no types
    """Operators of tiles, by those of pointers and masks: Triton's own names of them."""

    def create_make_block_ptr(
        self, base: Handle, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any
    ) -> Tile:
        return Tile(base, shape, strides, block_shape, tuple(offsets))

    def create_advance(self, ptr: Tile, offsets: Sequence[Handle]) -> Tile:
        moved = [
            TensorHandle(old.data + new.data, old.dtype)
            for old, new in zip(ptr.offsets, offsets, strict=True)
        ]
        return replace(ptr, offsets=moved)

    def create_tensor_pointer_load(
        self, ptr: Tile, boundary_check: Collection[int], padding: Any, *_: Any
    ) -> Handle:
        return self._load(replace(ptr, padding=padding), *ptr.reach(ptr.offsets, boundary_check))

    def create_tensor_pointer_store(
        self, ptr: Tile, value: Handle, boundary_check: Collection[int], *_: Any
    ) -> None:
        pointers, mask = ptr.reach(ptr.offsets, boundary_check)
        self.create_masked_store(pointers, value, mask)

    def create_make_tensor_descriptor(
        self, base: Handle, shape: Any, strides: Any, block_shape: Any, is_signed: bool,
        padding: Any = None,
    ) -> Tile:  # fmt: skip
        return Tile(base, shape, strides, block_shape, padding=padding)

    def create_descriptor_load(self, desc: Tile, indices: Sequence[Handle], *_: Any) -> Handle:
        return self._load(desc, *desc.reach(indices))

    def create_descriptor_store(self, desc: Tile, value: Handle, indices: Sequence[Handle]) -> None:
        pointers, mask = desc.reach(indices)
        self.create_masked_store(pointers, value, mask)

    def create_descriptor_gather(
        self, desc: Tile, x_offsets: Handle, y_offset: Handle, *_: Any
    ) -> Handle:
        return self._load(desc, *desc.reach_rows(x_offsets, y_offset))

    def create_descriptor_scatter(
        self, desc: Tile, value: Handle, x_offsets: Handle, y_offset: Handle
    ) -> None:
        pointers, mask = desc.reach_rows(x_offsets, y_offset)
        self.create_masked_store(pointers, value, mask)

    def create_descriptor_reduce(
        self, kind: Any, desc: Tile, value: Handle, indices: Sequence[Handle]
    ) -> None:
        pointers, mask = desc.reach(indices)
        name = f"F{kind.name}" if value.data.dtype.kind == "f" and kind.name == "ADD" else kind.name
        operation = getattr(stock._ir.ATOMIC_OP, name)
        relaxed = stock._ir.MEM_SEMANTIC.RELAXED
        self.create_atomic_rmw(operation, pointers, value, mask, relaxed, None)

    def _load(self, tile: Tile, pointers: Handle, mask: Handle) -> Handle:
        is_nan = tile.padding == stock._ir.PADDING_OPTION.PAD_NAN
        element = pointers.get_element_ty()
        number = stock._get_np_dtype(element)
        outside = np.full((1,) * pointers.data.ndim, np.nan if is_nan else 0).astype(number)
        return self.create_masked_load(pointers, mask, TensorHandle(outside, element))

"""Operators of Triton's interpreter for many programs at once.

Every array has one axis more than the block it stands for: the first counts the programs of a
batch, or has the length 1 where all programs have the same value. Scalars of Triton's own
interpreter have the shape (1,) and are such arrays already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter as stock
from triton.runtime.interpreter import TensorHandle

from workbench.compiler.internals.local_device import cut_to_tf32, round_to_tf32
from workbench.compiler.interpreter.triton.checked_memory import (
    Memory,
    OutOfBoundsError,
    read_memory,
    write_memory,
)


@dataclass  # not frozen: Triton 3.9 sets `round_f32_to_tf32` of a descriptor that it has made
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
    round_f32_to_tf32: bool = False

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
        self,
        base: Handle,
        shape: Any,
        strides: Any,
        block_shape: Any,
        is_signed: bool,
        padding: Any = None,
    ) -> Tile:
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
        loaded = self.create_masked_load(pointers, mask, TensorHandle(outside, element))
        if tile.round_f32_to_tf32 and element == tl.float32:
            whole = torch.from_numpy(loaded.data.astype(np.float32))
            return TensorHandle(round_to_tf32(whole).numpy(), element)
        return loaded


Array = np.ndarray[Any, Any]
Handle = Any  # triton.runtime.interpreter.TensorHandle
Operator = Callable[..., Array]

_FORMATS = {
    "bf16": torch.bfloat16,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
    "fp8e4b8": torch.float8_e4m3fnuz,
    "fp8e5b16": torch.float8_e5m2fnuz,
}
_BITS = {1: (np.uint8, torch.uint8), 2: (np.uint16, torch.uint16)}


class PromiseBroken(AssertionError):
    """What a kernel asserts or has assumed does not hold."""


def handle(data: Array, dtype: Any) -> Handle:
    """An array as Triton's interpreter holds it."""
    return TensorHandle(data, tl.int1 if data.dtype == np.bool_ else dtype.scalar)


def _by(op: Operator) -> Callable[..., Handle]:
    """The method that applies a function element by element."""

    def create(self: BatchedBuilder, *parts: Handle) -> Handle:
        return self.elementwise(op, *parts)

    return create


class BatchedBuilder(TileBuilder):
    """`programs` are the coordinates of the batch, an array per axis of the grid.

    `operations` counts those of floats in all programs, by "dot" and the name of the dtype, lanes
    that a mask leaves out included. `handovers` counts what lanes handed to one another.
    """

    def __init__(self) -> None:
        super().__init__()
        self.programs: tuple[Array, ...] = ()
        self.memory = Memory(())
        self.operations: Counter[str] = Counter()
        self.widest = 1
        self.handovers = 0
        self._has_tf32 = False

    def choose_products(self, default: str, allowed: tuple[str, ...], *, has_tf32: bool) -> None:
        """Have `tl.dot` of float32 take what a target does; without TF32 in full precision."""
        self._has_tf32 = has_tf32
        self.options: Any = replace(
            stock.InterpreterOptions(),
            default_dot_input_precision=default,
            allowed_dot_input_precisions=allowed,
            sanitize_overflow=False,  # which is computed for every integer, and asked in debug only
        )

    def hear_assertions(self) -> None:
        """Have `tl.device_assert` hold from now on, which is compiled in debug only."""
        self.options = replace(self.options, debug=True)

    # programs
    def create_get_program_id(self, axis: int) -> Handle:
        return TensorHandle(self.programs[axis], tl.int32)

    # memory
    # hints about caches differ from release to release of Triton, and change no value
    def create_load(self, ptr: Handle, *_: Any) -> Handle:
        mask = TensorHandle(_everywhere(ptr), tl.int1)
        return self.create_masked_load(ptr, mask, None)

    def create_store(self, ptr: Handle, val: Handle, *_: Any) -> None:
        mask = TensorHandle(_everywhere(ptr), tl.int1)
        self.create_masked_store(ptr, val, mask)

    def create_masked_load(
        self, ptrs: Handle, mask: Handle, other: Handle | None, *_: Any, **hints: Any
    ) -> Handle:
        element = ptrs.get_element_ty()
        dtype = stock._get_np_dtype(element)
        instead = np.zeros((1,) * ptrs.data.ndim, dtype) if other is None else other.data
        pointers, masks, others = np.broadcast_arrays(ptrs.data, mask.data, instead)
        self.widest = max(self.widest, pointers.size)
        values = self.memory.load(pointers, masks, others, dtype)
        return TensorHandle(
            self.memory.take_pointers(values) if element.is_ptr() else values, element
        )

    def create_masked_store(
        self, ptrs: Handle, value: Handle, mask: Handle, *_: Any, **hints: Any
    ) -> None:
        pointers, values, masks = np.broadcast_arrays(ptrs.data, value.data, mask.data)
        if len(pointers) < self.batch:  # every program writes; once has the same effect
            self.widest = max(self.widest, pointers.size)
        self.memory.store(pointers, values, masks)

    def create_barrier(self) -> None:
        self.memory.part_epochs()

    @property
    def batch(self) -> int:
        """How many programs run at once."""
        return len(self.programs[0]) if self.programs else 1

    def count(self, dtype: Any, data: Array, each: int = 1, what: str = "") -> None:
        """Count operations: `each` for every element, in every program of the batch."""
        if data.dtype.kind == "f" or is_coded(dtype):
            programs = self.batch if len(data) == 1 else len(data)
            self.operations[f"{what}{dtype.scalar.name}"] += each * data[:1].size * programs

    def create_atomic_cas(
        self, ptr: Handle, cmp: Handle, val: Handle, sem: Any, scope: Any
    ) -> Handle:
        pointers, compared, values = np.broadcast_arrays(
            *self._for_each(ptr.data, cmp.data, val.data)
        )
        everywhere = np.ones(pointers.shape, dtype=bool)
        pointers = np.ascontiguousarray(pointers)
        inside = self.memory.keep(
            pointers, everywhere, values.dtype, "exchange", orders=_orders(sem)
        )
        if not inside.all():
            raise OutOfBoundsError("does an atomic compare-and-swap outside its arguments")
        parts = [
            TensorHandle(np.ascontiguousarray(a), h.dtype)
            for a, h in ((pointers, ptr), (compared, cmp), (values, val))
        ]
        return super().create_atomic_cas(*parts, sem, scope)

    def create_atomic_rmw(
        self, op: Any, ptr: Handle, val: Handle, mask: Handle, sem: Any, scope: Any
    ) -> Handle:
        arrays = np.broadcast_arrays(*self._for_each(ptr.data, val.data, mask.data))
        pointers, values, masks = (np.ascontiguousarray(array) for array in arrays)
        kind = "exchange" if op == stock._ir.ATOMIC_OP.XCHG else "atomic"
        masks = self.memory.keep(pointers, masks, values.dtype, kind, orders=_orders(sem))
        if is_coded(val.dtype):
            return self._add_coded(pointers, values, masks, val.dtype)
        return super().create_atomic_rmw(
            op,
            TensorHandle(pointers, ptr.dtype),
            TensorHandle(values, val.dtype),
            TensorHandle(masks, tl.int1),
            sem,
            scope,
        )

    def create_atomic_load(self, ptr: Handle, mask: Handle | None, sem: Any, scope: Any) -> Handle:
        # Triton's own of 2026 ends with a TypeError
        pointers, masks = self._for_each(ptr.data, _everywhere(ptr) if mask is None else mask.data)
        element = ptr.get_element_ty()
        dtype = stock._get_np_dtype(element)
        masks = self.memory.keep(pointers, masks, dtype, "atomic", orders=_orders(sem))
        return TensorHandle(
            read_memory(pointers, masks, np.zeros(pointers.shape, dtype), dtype), element
        )

    def create_atomic_store(
        self, ptr: Handle, val: Handle, mask: Handle | None, sem: Any, scope: Any
    ) -> None:
        where = _everywhere(ptr) if mask is None else mask.data
        arrays = np.broadcast_arrays(*self._for_each(ptr.data, val.data, where))
        pointers, values, masks = (np.ascontiguousarray(array) for array in arrays)
        masks = self.memory.keep(pointers, masks, values.dtype, "exchange", orders=_orders(sem))
        write_memory(pointers, values, masks)

    def _for_each(self, *arrays: Array) -> tuple[Array, ...]:
        """The arrays with a row for every program: each of them performs its own atomic."""
        counted = np.broadcast_to(
            np.zeros(1, dtype=bool), (self.batch,) + (1,) * (arrays[0].ndim - 1)
        )
        return tuple(np.broadcast_arrays(*arrays, counted)[:-1])

    def _add_coded(self, pointers: Array, values: Array, masks: Array, dtype: Any) -> Handle:
        """Atomic addition of bfloat16, rounded once for each address."""
        old = read_memory(pointers, masks, np.zeros_like(values), values.dtype)
        places, inverse = np.unique(pointers[masks], return_inverse=True)
        ones = np.ones(places.shape, dtype=bool)
        before = read_memory(places, ones, np.zeros(places.shape, values.dtype), values.dtype)
        sums = decode(before, dtype).astype(np.float64)
        np.add.at(sums, inverse.ravel(), decode(values, dtype)[masks])
        write_memory(places, encode(sums, dtype), ones)
        return TensorHandle(old, dtype.scalar)

    # constants
    def get_bf16(self, value: float) -> Handle:
        # triton 3.7's own interpreter has none, and ends at `x * 1.5` for x of bfloat16
        return TensorHandle(encode(np.array([value]), tl.bfloat16), tl.bfloat16)

    # conversions
    def create_int_to_ptr(self, val: Handle, dst_ty: Any) -> Handle:
        return TensorHandle(self.memory.take_pointers(val.data.astype(np.uint64)), dst_ty.scalar)

    def cast_impl(self, src: Handle, dst_type: Any) -> Handle:
        return self.create_fp_to_fp(src, dst_type, None)

    def create_fp_to_fp(self, src: Handle, dst_type: Any, rounding_mode: Any) -> Handle:
        values = decode(src.data, src.dtype)
        if is_coded(dst_type):
            cut = rounding_mode == stock._ir.ROUNDING_MODE.RTZ
            return TensorHandle(encode(values, dst_type, towards_zero=cut), dst_type.scalar)
        converted = values.astype(stock._get_np_dtype(dst_type))
        return TensorHandle(converted, dst_type.scalar)

    # operators element by element
    def elementwise(self, op: Operator, *parts: Handle) -> Handle:
        """Apply to values; formats that are held as bits compute in float32 and round once."""
        dtype = parts[-1].dtype.scalar
        data = op(*(decode(part.data, part.dtype) for part in parts))
        self.widest = max(self.widest, data.size)
        self.count(dtype, data)
        if data.dtype == np.bool_:
            return TensorHandle(data, tl.int1)
        if is_coded(dtype):
            return TensorHandle(encode(data, dtype), dtype)
        return TensorHandle(data.astype(stock._get_np_dtype(dtype), copy=False), dtype)

    def binary_op(self, lhs: Handle, rhs: Handle, op: Operator) -> Handle:
        return self.elementwise(op, lhs, rhs)

    def unary_op(self, arg: Handle, op: Operator) -> Handle:
        return self.elementwise(op, arg)

    def ternary_op(self, lhs: Handle, rhs: Handle, other: Handle, op: Operator) -> Handle:
        return self.elementwise(op, lhs, rhs, other)

    def create_select(self, cond: Handle, lhs: Handle, rhs: Handle) -> Handle:
        return handle(np.where(cond.data, lhs.data, rhs.data), rhs.dtype)

    def create_clampf(self, arg: Handle, lo: Handle, hi: Handle, propagate: Any) -> Handle:
        is_strict = propagate == stock._ir.PROPAGATE_NAN.ALL
        least, most = (np.minimum, np.maximum) if is_strict else (np.fmin, np.fmax)
        return self.elementwise(lambda a, low, high: least(most(a, low), high), arg, lo, hi)

    create_minnumf = _by(np.fmin)
    create_maxnumf = _by(np.fmax)
    create_fabs = _by(np.abs)
    create_rsqrt = _by(lambda values: 1 / np.sqrt(values))
    create_erf = _by(lambda v: torch.erf(torch.from_numpy(np.ascontiguousarray(v))).numpy())
    create_idiv = _by(lambda a, b: (a - np.fmod(a, b)) // b)  # towards zero
    create_fma = _by(lambda a, b, c: a.astype(np.float64) * b + c)  # rounded once, as by a GPU

    def create_umulhi(self, lhs: Handle, rhs: Handle) -> Handle:
        parts = np.broadcast_arrays(lhs.data, rhs.data)
        return super().create_umulhi(*(TensorHandle(p, lhs.dtype) for p in parts))

    # operators that change the shape of a block
    def create_make_range(self, ret_ty: Any, start: int, stop: int) -> Handle:
        return TensorHandle(np.arange(start, stop, dtype=np.int32)[None], tl.int32)

    def create_splat(self, ret_ty: Any, arg: Handle) -> Handle:
        rows = arg.data.reshape((-1,) + (1,) * len(ret_ty.shape))
        data = np.broadcast_to(rows, (len(rows), *ret_ty.shape))
        return TensorHandle(data, arg.dtype.scalar)

    def create_unsplat(self, arg: Handle) -> Handle:
        return TensorHandle(arg.data.reshape(-1), arg.dtype.scalar)

    def create_reshape(self, arg: Handle, shape: Sequence[int], allow_reorder: bool) -> Handle:
        self.handovers += 1
        return TensorHandle(arg.data.reshape((-1, *shape)), arg.dtype.scalar)

    def create_trans(self, arg: Handle, perm: Sequence[int]) -> Handle:
        self.handovers += 1
        axes = (0, *(axis + 1 for axis in perm))
        return TensorHandle(np.transpose(arg.data, axes), arg.dtype.scalar)

    def create_expand_dims(self, arg: Handle, axis: int) -> Handle:
        return TensorHandle(np.expand_dims(arg.data, axis + 1), arg.dtype.scalar)

    def create_broadcast(self, arg: Handle, shape: Sequence[int]) -> Handle:
        return TensorHandle(np.broadcast_to(arg.data, (len(arg.data), *shape)), arg.dtype.scalar)

    def create_cat(self, lhs: Handle, rhs: Handle) -> Handle:
        self.handovers += 1
        return TensorHandle(np.concatenate(_level(lhs, rhs), axis=1), lhs.dtype.scalar)

    def create_join(self, lhs: Handle, rhs: Handle) -> Handle:
        return TensorHandle(np.stack(_level(lhs, rhs), axis=-1), lhs.dtype.scalar)

    def create_gather(self, src: Handle, indices: Handle, axis: int) -> Handle:
        self.handovers += 1
        values, places = _level(src, indices)
        length = values.shape[axis + 1]
        wrong = places[(places < 0) | (places >= length)]
        if wrong.size:
            raise OutOfBoundsError(
                f"tl.gather: index {wrong[0]} is out of bounds for an axis of size {length}"
            )
        return TensorHandle(np.take_along_axis(values, places, axis=axis + 1), src.dtype.scalar)

    def create_histogram(self, data: Handle, bins: int, mask: Handle | None) -> Handle:
        self.handovers += 1
        rows = data.data.reshape(len(data.data), -1)
        use = np.ones((1, 1), dtype=bool) if mask is None else mask.data.reshape(len(mask.data), -1)
        pairs = zip(rows, np.broadcast_to(use, rows.shape), strict=True)
        counted = [np.bincount(row[valid], minlength=bins)[:bins] for row, valid in pairs]
        return TensorHandle(np.array(counted, dtype=np.int32), tl.int32)

    def create_dot(self, a: Handle, b: Handle, d: Handle, precision: Any, *_: Any) -> Handle:
        self.handovers += 1
        wide = d.data.dtype
        left, right = (decode(part.data, part.dtype).astype(wide, copy=False) for part in (a, b))
        mode = precision.name if self._has_tf32 and a.dtype.scalar is tl.float32 else "IEEE"
        if mode not in ("TF32", "TF32x3"):
            product = np.matmul(left, right)
        else:
            high, other = _cut(left), _cut(right)
            product = np.matmul(high, other)
            if mode == "TF32x3":  # the small parts first, as Triton takes it apart
                low, rest = _cut(left - high), _cut(right - other)
                product = np.matmul(low, other) + np.matmul(high, rest) + product
        self.count(a.dtype, product, 2 * left.shape[-1], "dot ")
        return TensorHandle((product + d.data).astype(wide), d.dtype.scalar)

    def create_print(self, *_: Any) -> None:
        """Nothing: `tl.device_print` changes no value, and this process has no output to read."""

    def create_assert(self, condition: Handle, message: str) -> None:
        if not np.all(condition.data):
            raise PromiseBroken(message)

    def create_assume(self, condition: Handle) -> None:
        if not np.all(condition.data):
            raise PromiseBroken("the condition of tl.assume does not hold")


def _everywhere(ptr: Handle) -> Array:
    return np.ones((1,) * ptr.data.ndim, dtype=bool)


def _orders(sem: Any) -> bool:
    return bool(sem != stock._ir.MEM_SEMANTIC.RELAXED)


def _cut(values: Array) -> Array:
    cut: Array = cut_to_tf32(torch.from_numpy(np.ascontiguousarray(values))).numpy()
    return cut


def _level(lhs: Handle, rhs: Handle) -> list[Array]:
    """Both with the same number of programs."""
    count = max(len(lhs.data), len(rhs.data))
    return [np.broadcast_to(part.data, (count, *part.data.shape[1:])) for part in (lhs, rhs)]


def is_coded(dtype: Any) -> bool:
    """Whether the interpreter holds numbers of this Triton type as bits."""
    return getattr(dtype.scalar, "name", "") in _FORMATS


def decode(data: Array, dtype: Any) -> Array:
    """The values behind bits, in float32, which holds all of them exactly."""
    if not is_coded(dtype):
        return data
    coded = _FORMATS[dtype.scalar.name]
    bits = torch.from_numpy(np.ascontiguousarray(data))
    values: Array = bits.view(coded).to(torch.float32).numpy()
    return values


def encode(values: Array, dtype: Any, *, towards_zero: bool = False) -> Array:
    """Bits of the nearest number, ties to even; 8-bit formats saturate, as GPUs convert to them."""
    if not is_coded(dtype):
        return values
    coded = _FORMATS[dtype.scalar.name]
    wide = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
    if coded.itemsize == 1:
        most = torch.finfo(coded).max
        wide = wide.clamp(-most, most)
    elif towards_zero:
        wide = (wide.view(torch.int32) & -65536).view(torch.float32)
    bits: Array = wide.to(coded).view(_BITS[coded.itemsize][1]).numpy()
    return bits

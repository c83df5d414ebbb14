"""Every access of a run: which program and lane reached which bytes, in which line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, Any]
Kind = Literal["read", "write", "atomic"]
LIMIT = 100_000_000
"""Bytes of a log that is full; what comes after is checked and not noted."""


@dataclass(frozen=True)
class Place:
    """Where in the user's code an access stands; lines and columns from 1, 0 is not known."""

    file: str
    line: int
    column: int = 0
    function: str = ""


@dataclass(frozen=True)
class Held:
    """The memory of an argument, or of several that share some; strides in elements.

    `size` and `shape` are those of the first; `span` are the bytes from the first to the last.
    """

    names: tuple[str, ...]
    dtype: str
    size: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    span: int

    @property
    def name(self) -> str:
        """The argument as it is called in a sentence."""
        return self.names[0]

    def index_of(self, offset: int) -> tuple[int, ...]:
        """The element at so many bytes behind the first, by axis; one number outside of them.

        A place behind the end of one row of a narrow view is that of the row.
        """
        flat = offset // self.size
        axes = sorted(range(len(self.shape)), key=lambda n: -self.strides[n])
        if flat < 0 or any(stride < 1 for stride in self.strides) or len(axes) < 2:
            return (flat // self.strides[0],) if len(axes) == 1 and self.strides[0] else (flat,)
        index = [0] * len(axes)
        for axis in axes:
            index[axis], flat = divmod(flat, self.strides[axis])
        return tuple(index)


@dataclass(frozen=True)
class Access:
    """What all programs of a batch do in one step: an address for each program and lane.

    Addresses are bytes behind the first element of the argument. `steps` says how far each axis of
    lanes goes, from the `base` of each program, where that is the same everywhere; else `offsets`
    has all of them. `mask` is packed, None where every lane takes part. `values` are what a plain
    write wrote. Axes on which nothing changes have the length 1 in all of these. `handovers` counts
    what lanes handed to one another before, as a sum does.
    """

    kind: Kind
    place: int
    argument: int
    size: int
    step: int
    epoch: int
    orders: bool
    programs: Array
    lanes: tuple[int, ...]
    base: Array
    steps: tuple[int, ...] | None
    offsets: Array | None
    mask: tuple[Array, tuple[int, ...]] | None
    values: Array | None = None
    handovers: int = 0

    @property
    def nbytes(self) -> int:
        """What it takes of the log."""
        parts = (self.programs, self.base, self.offsets, self.values, self.mask and self.mask[0])
        return sum(part.nbytes for part in parts if part is not None)

    @property
    def shape(self) -> tuple[int, ...]:
        """Programs, then lanes."""
        return (len(self.programs), *self.lanes)

    def find_addresses(self) -> Array:
        """Bytes behind the first element, for each program and lane, masked ones too."""
        if self.offsets is not None:
            return np.broadcast_to(self.offsets, self.shape)
        addresses = self.base.reshape((-1,) + (1,) * len(self.lanes))
        for axis, (length, step) in enumerate(zip(self.lanes, self.steps or (), strict=True)):
            along = [1] * (len(self.lanes) + 1)
            along[axis + 1] = length
            addresses = addresses + (np.arange(length, dtype=np.int64) * step).reshape(along)
        return np.broadcast_to(addresses, self.shape)

    def find_used(self) -> Array | None:
        """Which programs and lanes take part, None for all."""
        if self.mask is None:
            return None
        bits, shape = self.mask
        count = int(np.prod(shape))
        used = np.unpackbits(bits, count=count).astype(bool).reshape(shape)
        return np.broadcast_to(used, self.shape)

    def count_used(self) -> int:
        """How many elements are reached, once for each program and lane."""
        used = self.find_used()
        return int(np.prod(self.shape)) if used is None else int(np.count_nonzero(used))

    def spread(self, values: Array) -> Array:
        """A number for each program or lane, for those that take part, in their order."""
        used = self.find_used()
        whole = np.broadcast_to(values, self.shape)
        return whole.reshape(-1) if used is None else whole[used]

    def list_places(self) -> Array:
        """The addresses of those that take part, programs one after the other."""
        return self.spread(self.find_addresses())

    def list_programs(self) -> Array:
        """The program of each of them."""
        return self.spread(self.programs.reshape((-1,) + (1,) * len(self.lanes)))

    def list_lanes(self) -> Array:
        """The lane of each of them, counted row by row."""
        return self.spread(np.arange(int(np.prod(self.lanes))).reshape(self.lanes)[None])


def compact_access(
    kind: Kind,
    place: int,
    argument: int,
    size: int,
    step: int,
    epoch: int,
    programs: Array,
    pointers: Array,
    mask: Array,
    start: int,
    *,
    orders: bool = False,
    handovers: int = 0,
) -> Access:
    """An access as it is noted, from addresses and mask with an axis for programs first."""
    narrow = _narrow(pointers).astype(np.int64) - start
    base = narrow.reshape(len(narrow), -1)[:, 0].copy()
    steps = tuple(
        int(narrow[(0,) * (axis + 1) + (1,) + (0,) * (narrow.ndim - axis - 2)] - narrow.flat[0])
        if narrow.shape[axis + 1] > 1
        else 0
        for axis in range(narrow.ndim - 1)
    )
    access = Access(
        kind,
        place,
        argument,
        size,
        step,
        epoch,
        orders,
        programs,
        tuple(pointers.shape[1:]),
        base,
        steps,
        None,
        None,
        handovers=handovers,
    )
    used = _narrow(mask)
    if not used.all():
        access = replace(access, mask=(np.packbits(used), used.shape))
    if np.array_equal(np.broadcast_to(narrow, access.shape), access.find_addresses()):
        return access
    is_small = narrow.min() >= -(1 << 31) and narrow.max() < 1 << 31
    return replace(access, offsets=narrow.astype(np.int32 if is_small else np.int64), steps=None)


def _narrow(array: Array) -> Array:
    """With one element on every axis that numpy only repeats."""
    return array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]


@dataclass(frozen=True)
class AccessLog:
    """Every access of a run, in the order of the run.

    `operations` are those of floats by dtype, "dot float16" for products of `tl.dot`; lanes that a
    mask leaves out are computed, and count. Not `is_whole`: the log was full, or a sample of the
    programs ran. `programs` counts those that ran, `grid` all of them by axis.
    """

    grid: tuple[int, int, int]
    arguments: tuple[Held, ...]
    places: tuple[Place, ...] = ()
    accesses: tuple[Access, ...] = ()
    operations: Mapping[str, int] = field(default_factory=dict)
    programs: int = 0
    is_whole: bool = True

    @property
    def nbytes(self) -> int:
        """How much memory it takes, in bytes."""
        return sum(access.nbytes for access in self.accesses)

    def select(
        self, argument: str | None = None, line: int | None = None, kind: Kind | None = None
    ) -> Iterator[Access]:
        """The accesses of an argument, of a line, of a kind."""
        for access in self.accesses:
            is_named = argument is None or argument in self.arguments[access.argument].names
            is_there = line is None or self.places[access.place].line == line
            if is_named and is_there and kind in (None, access.kind):
                yield access

    def asked_bytes(
        self, argument: str | None = None, line: int | None = None, kind: Kind | None = None
    ) -> int:
        """What programs ask for, in bytes: without any cache that much is moved.

        An atomic counts once, though it reads and writes.
        """
        return sum(a.count_used() * a.size for a in self.select(argument, line, kind))

    def unique_bytes(
        self, argument: str | None = None, line: int | None = None, kind: Kind | None = None
    ) -> int:
        """Different bytes among them: what must be moved at least, however large the caches are.

        What is read and then written counts twice, as it comes and goes.
        """
        kinds: Sequence[Kind] = ("read", "write", "atomic") if kind is None else (kind,)
        total = 0
        for chosen_kind in kinds:
            by_argument: dict[int, list[Access]] = {}
            for access in self.select(argument, line, chosen_kind):
                by_argument.setdefault(access.argument, []).append(access)
            for number, accesses in by_argument.items():
                grain = find_grain(accesses)
                touched = np.zeros(-(-self.arguments[number].span // grain) + 1, dtype=bool)
                for access in accesses:
                    touched[list_grains(access, grain)] = True
                total += int(np.count_nonzero(touched)) * grain
        return total

    def find_program(self, number: int) -> tuple[int, int, int]:
        """The coordinates of a program in the grid."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // x // y


def find_grain(accesses: Sequence[Access]) -> int:
    """The bytes of the smallest access: others count as several."""
    return min(access.size for access in accesses)


def list_grains(access: Access, grain: int) -> Array:
    """The grains that an access reaches, those of each element one after the other."""
    first = access.list_places() // grain
    count = access.size // grain
    return first if count == 1 else (first[:, None] + np.arange(count)).reshape(-1)

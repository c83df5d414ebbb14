"""Counts the sectors that warps' instructions touch, of addresses and a layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.compiler.internals.triton_layouts import Bases
from workbench.device_kinds import SECTOR_BYTES

Array = np.ndarray[Any, Any]
WIDEST = 16
"""Bytes that one thread moves with one instruction at most."""
_PATTERN = 0.75  # of neighbours that are as far apart as most, for a pattern


@dataclass(frozen=True)
class Moved:
    """What warps' instructions moved, all of them together.

    `used` are different bytes that an instruction asks for, `least` the sectors that these fill at
    least, `once` the sectors of all instructions of a warp of one access together, `kept` the
    different bytes of these. `fits` are the
    bytes that one instruction could move of the elements of a thread that are contiguous, aligned
    and used together, `aligned` those that the mask may part, `follow` those that are at least
    contiguous. `behind` is how many bytes behind the begin of a sector every instruction begins,
    None where they differ, `earlier` the sectors if all began there. `steps` says how many bytes
    neighbours along each axis of the block are apart, None where there is no pattern; `axis` is the
    axis along which neighbouring lanes lie. `lanes` is one instruction: the bytes from the begin of
    its first sector, by lane, -1 for one that takes no part.
    """

    instructions: int = 0
    used: int = 0
    sectors: int = 0
    least: int = 0
    once: int = 0
    kept: int = 0
    fits: int = WIDEST
    aligned: int = WIDEST
    follow: int = WIDEST
    steps: tuple[int | None, ...] = ()
    axis: int = 0
    lanes: tuple[int, ...] = ()
    sector: int = SECTOR_BYTES
    behind: int | None = None
    earlier: int = 0

    @property
    def share(self) -> float:
        """The part of what an instruction brings that it uses."""
        return self.used / (self.sectors * self.sector)

    @property
    def share_l1(self) -> float:
        """The same if the L1 cache keeps what a warp has brought."""
        return self.kept / (self.once * self.sector)

    def __add__(self, other: Moved) -> Moved:
        if not self.instructions or not other.instructions:
            return self if self.instructions else other
        is_longer = sum(n >= 0 for n in other.lanes) > sum(n >= 0 for n in self.lanes)
        steps = (a if a == b else None for a, b in zip(self.steps, other.steps, strict=True))
        return Moved(
            self.instructions + other.instructions,
            self.used + other.used,
            self.sectors + other.sectors,
            self.least + other.least,
            self.once + other.once,
            self.kept + other.kept,
            min(self.fits, other.fits),
            min(self.aligned, other.aligned),
            min(self.follow, other.follow),
            tuple(steps),
            self.axis,
            other.lanes if is_longer else self.lanes,
            self.sector,
            self.behind if self.behind == other.behind else None,
            self.earlier + other.earlier,
        )


def count_moved(
    addresses: Array,
    used: Array | None,
    bases: Bases,
    size: int,
    width: int,
    *,
    is_read: bool,
    sector: int = SECTOR_BYTES,
) -> Moved:
    """What is moved of addresses and a mask [program, *block], in bytes from the begin of a line.

    `sector` are the bytes that the memory is read in at least, `size` those of an element, `width`
    those of one thread's instruction.
    """
    shape = addresses.shape[1:]
    places = place_elements(bases, shape, is_read=is_read)
    at = addresses.reshape(len(addresses), -1)[:, places].astype(np.int64)
    mask = np.ones_like(at, dtype=bool)
    if used is not None:
        mask = used.reshape(len(used), -1)[:, places]
    together = _round_down(max(1, min(width // size, at.shape[2])))
    rows = at.reshape(-1, together * at.shape[3]), mask.reshape(-1, together * at.shape[3])
    is_issued = rows[1].any(axis=1)
    if not is_issued.any():
        return Moved()
    issued, active = rows[0][is_issued], rows[1][is_issued]
    bytes_used = count_different(issued, active) * size
    whole = at.reshape(-1, at.shape[2] * at.shape[3]), mask.reshape(-1, at.shape[2] * at.shape[3])
    fits, aligned, follow = _find_runs(at, mask, size)
    sectors = _count_sectors(issued, active, size, sector)
    begins = np.unique(issued.min(axis=1) % sector)  # masked lanes too: they are of the same run
    behind = int(begins[0]) if len(begins) == 1 else None
    earlier = _count_sectors(issued - behind, active, size, sector) if behind else sectors
    return Moved(
        instructions=len(issued),
        used=int(bytes_used.sum()),
        sectors=int(sectors.sum()),
        least=int(np.maximum(1, -(-bytes_used // sector)).sum()),
        once=int(_count_sectors(*whole, size, sector).sum()),
        kept=int(count_different(*whole).sum()) * size,
        fits=fits,
        aligned=aligned,
        follow=follow,
        behind=behind,
        earlier=int(earlier.sum()),
        steps=_find_steps(addresses, used),
        axis=_find_axis(bases),
        lanes=_pick_lanes(issued, active, together, sector),
        sector=sector,
    )


def place_elements(bases: Bases, shape: Sequence[int], *, is_read: bool) -> Array:
    """The element of a block, counted row by row, by [warp, register, lane].

    Registers that hold the same as others are left out; so are warps that would write the same
    again, where it is no read.
    """
    registers, lanes, warps, blocks = bases
    registers = tuple(base for base in registers if any(base))
    if not is_read:
        warps, blocks = (tuple(filter(any, part)) for part in (warps, blocks))
    spread = [_spread(part, len(shape)) for part in ((*warps, *blocks), registers, lanes)]
    at = spread[0][:, None, None] ^ spread[1][None, :, None] ^ spread[2][None, None, :]
    if not shape:
        return np.zeros(at.shape[:3], dtype=np.int64)
    return np.asarray(np.ravel_multi_index(tuple(np.moveaxis(at, -1, 0)), tuple(shape)))


def _spread(bases: Sequence[Sequence[int]], axes: int) -> Array:
    """The places of all numbers of so many bits: each the XOR of the bases of its set bits."""
    places = np.zeros((1, axes), dtype=np.int64)
    for base in bases:
        places = np.concatenate(
            [places, places ^ np.asarray(base, dtype=np.int64).reshape(1, axes)]
        )
    return places


def count_different(values: Array, taken: Array) -> Array:
    """How many different numbers are among those that are taken, by row; none is below 0."""
    ordered = np.sort(np.where(taken, values, -1), axis=1)
    new = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    return np.asarray(new.sum(axis=1) + (ordered[:, 0] >= 0))


def _count_sectors(at: Array, active: Array, size: int, sector: int) -> Array:
    first, last = at // sector, (at + size - 1) // sector
    if (first == last).all():
        return count_different(first, active)
    return count_different(np.concatenate([first, last], 1), np.concatenate([active, active], 1))


def _find_runs(at: Array, mask: Array, size: int) -> tuple[int, int, int]:
    """See `Moved`: bytes that fit one instruction, that are aligned, and that are contiguous."""
    fits = aligned = follow = size
    together = 2
    while together <= at.shape[2] and together * size <= WIDEST:
        grouped = at.reshape(*at.shape[:2], -1, together, at.shape[3])
        used = mask.reshape(grouped.shape)
        expected = grouped[:, :, :, :1] + np.arange(together).reshape(1, 1, 1, -1, 1) * size
        if not np.where(used, grouped == expected, True).all():
            break
        follow = together * size
        is_any = used.any(axis=3)
        if np.where(is_any, grouped[:, :, :, 0] % follow == 0, True).all():
            aligned = follow
            if (used == used[:, :, :, :1]).all():
                fits = follow
        together *= 2
    return fits, aligned, follow


def _find_steps(addresses: Array, used: Array | None) -> tuple[int | None, ...]:
    per_axis: list[int | None] = []
    for axis in range(1, addresses.ndim):
        steps = np.diff(addresses, axis=axis)
        if used is not None:
            ahead = np.take(used, range(1, used.shape[axis]), axis)
            steps = steps[ahead & np.take(used, range(used.shape[axis] - 1), axis)]
        values, counts = np.unique(steps, return_counts=True)
        if not len(values):
            per_axis.append(0)
            continue
        most = int(counts.argmax())
        is_pattern = counts[most] >= _PATTERN * counts.sum()
        per_axis.append(int(values[most]) if is_pattern else None)
    return tuple(per_axis)


def _find_axis(bases: Bases) -> int:
    """The axis along which neighbouring lanes lie, or the elements of a thread without any."""
    for base in (*bases[1], *bases[0]):
        if any(base):
            return next(axis for axis, size in enumerate(base) if size)
    return 0


def _pick_lanes(issued: Array, active: Array, together: int, sector: int) -> tuple[int, ...]:
    """One instruction in which as many lanes as possible take part."""
    lanes = issued.shape[1] // together
    first = issued.reshape(-1, together, lanes), active.reshape(-1, together, lanes)
    by_lane = np.where(first[1], first[0], np.iinfo(np.int64).max).min(axis=1)
    any_taken: Array = np.asarray(first[1].any(axis=1))
    row = int(any_taken.sum(axis=1).argmax())
    begin = int(by_lane[row][any_taken[row]].min()) // sector * sector
    picked = np.where(any_taken[row], by_lane[row] - begin, -1)
    return tuple(int(n) for n in picked)


def _round_down(number: int) -> int:
    """The largest power of two that is not above it."""
    return 1 << (number.bit_length() - 1)

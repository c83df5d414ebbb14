"""What torch's caching allocator would reserve on a CUDA device for a program: a model of it.

The rules are those of c10/cuda/CUDACachingAllocator.cpp, the constants those of torch 2.13's
c10/core/AllocatorConfig.h: blocks of 512 B; those of at most 1 MiB come from segments of 2 MiB,
those below 10 MiB from segments of 20 MiB, larger ones from a segment of their own size in steps of
2 MiB. The smallest free block that is large enough is taken, and split where at least 512 B (of a
small one) or more than 1 MiB are left; free neighbours are joined; a segment is kept.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from workbench.analysis.memory.storages import Storage

BLOCK, SMALL, SMALL_SEGMENT = 512, 1 << 20, 2 << 20
LARGE, LARGE_SEGMENT, STEP = 10 << 20, 20 << 20, 2 << 20
MODEL = (
    "reserved bytes by a model of torch's caching allocator with its default options, in a process "
    "that runs this call alone, without the context of the device, workspaces of libraries, "
    "expandable segments, several streams and what is given back where the device is full"
)
"""Where reserved bytes come from, and what they leave out."""


@dataclass(slots=True, eq=False)
class _Block:
    size: int
    number: int
    is_small: bool
    is_free: bool = True
    before: _Block | None = None
    after: _Block | None = None

    @property
    def order(self) -> tuple[int, int]:
        return self.size, self.number


class CachingAllocator:
    """`allocated` and `reserved` bytes of now; the numbers of blocks stand for addresses."""

    def __init__(self) -> None:
        self.allocated = self.reserved = 0
        self._free: dict[bool, list[_Block]] = {True: [], False: []}
        self._made = 0

    def take(self, size: int) -> _Block:
        """Allocate; a free block is used again where one is large enough."""
        size = rounded(size, BLOCK)
        is_small = size <= SMALL
        free = self._free[is_small]
        place = bisect_left(free, size, key=lambda block: block.size)
        block = free.pop(place) if place < len(free) else self._segment(size, is_small)
        rest = block.size - size
        if rest >= BLOCK if is_small else rest > SMALL:
            self._split(block, size)
        block.is_free = False
        self.allocated += block.size
        return block

    def give(self, block: _Block) -> None:
        """Release: it is free again, as one with its free neighbours."""
        self.allocated -= block.size
        block.is_free = True
        for other in (block.before, block.after):
            if other is not None and other.is_free:
                self._free[block.is_small].remove(other)
                self._join(block, other)
        insort(self._free[block.is_small], block, key=lambda each: each.order)

    def _segment(self, size: int, is_small: bool) -> _Block:
        large = LARGE_SEGMENT if size < LARGE else rounded(size, STEP)
        block = self._block(SMALL_SEGMENT if is_small else large, is_small)
        self.reserved += block.size
        return block

    def _block(self, size: int, is_small: bool) -> _Block:
        self._made += 1
        return _Block(size, self._made, is_small)

    def _split(self, block: _Block, size: int) -> None:
        rest = self._block(block.size - size, block.is_small)
        rest.before, rest.after = block, block.after
        if block.after is not None:
            block.after.before = rest
        block.after, block.size = rest, size
        insort(self._free[block.is_small], rest, key=lambda each: each.order)

    @staticmethod
    def _join(block: _Block, other: _Block) -> None:
        block.size += other.size
        if other is block.before:
            block.before, block.number = other.before, other.number
            if other.before is not None:
                other.before.after = block
        else:
            block.after = other.after
            if other.after is not None:
                other.after.before = block


def rounded(size: int, step: int) -> int:
    """The smallest multiple of a step that holds a size, at least one step."""
    return max(step, -(-size // step) * step)


def walk_allocator(storages: Sequence[Storage], count: int) -> Iterator[tuple[int, int]]:
    """Allocated and reserved bytes at each of the moments of a walk.

    A tensor without elements takes nothing. What the caller gives was allocated before.
    """
    gpu = CachingAllocator()
    begins = _by_moment(storages, (storage.first_moment for storage in storages))
    ends = _by_moment(storages, (storage.last_moment for storage in storages))
    blocks: dict[int, _Block] = {}
    for moment in range(count):
        for storage in ends.get(moment, ()):
            if id(storage) in blocks:
                gpu.give(blocks.pop(id(storage)))
        for storage in begins.get(moment, ()):
            if storage.bytes:
                blocks[id(storage)] = gpu.take(storage.bytes)
        yield gpu.allocated, gpu.reserved


def _by_moment(
    storages: Sequence[Storage], moments: Iterable[int | None]
) -> dict[int, list[Storage]]:
    by_moment: dict[int, list[Storage]] = {}
    for storage, moment in zip(storages, moments, strict=True):
        if moment is not None:
            by_moment.setdefault(moment, []).append(storage)
    return by_moment

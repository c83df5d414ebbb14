"""The peaks of a call: of its parts, of the whole, and of eager.

What torch's caching allocator would reserve on a CUDA device for a program: a model of it.

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

from workbench.analysis.memory.scratch import describe_scratch, list_scratch
from workbench.analysis.memory.storages import Storage
from workbench.analysis.memory.timeline import Timeline, is_on_cpu, list_devices
from workbench.artifacts.programs import is_cpp_program
from workbench.device_kinds import is_gpu
from workbench.number_text import plural
from workbench.report import Report
from workbench.report.collectives.shard_groups import SHARDS
from workbench.report.memory_rows import Kind, MemoryPeak

BASE: tuple[Kind, ...] = ("weights", "constant", "input")
"""What the caller holds all the time."""
COUNTED = "counted from the generated program"
COUNTED_WITH_HOOKS = f"{COUNTED}, with fully_shard's hooks as in torch 2.13"
_SCRATCH = "memory that library calls allocate and free while they run"
_OPTIMIZER = "the optimizer"
_EAGER = "eager_memory"


def count_base_bytes(timeline: Timeline) -> int:
    """Bytes of weights, constants and inputs."""
    pairs = zip(timeline.walk.storages, timeline.kinds, strict=True)
    return sum(storage.bytes for storage, kind in pairs if kind in BASE)


def list_missing(timeline: Timeline, *, with_scratch: bool = True) -> str:
    """What the figures of a timeline leave out, among it what library calls take meanwhile."""
    left = []
    scratch = describe_scratch(list_scratch(timeline), on_cpu=is_on_cpu(timeline.report))
    if scratch and with_scratch:
        left.append(f"{_SCRATCH} ({scratch})")
    if any(wrapper.is_backward for wrapper in timeline.wrappers):
        left.append(_OPTIMIZER)
    unknown = tuple(dict.fromkeys(timeline.walk.unknown))
    if unknown:
        left.append(f"results of library calls of unknown size ({', '.join(unknown)})")
    return "; ".join((*left, *timeline.notes))


def find_peaks(timeline: Timeline) -> tuple[MemoryPeak, ...]:
    """The peak of each part of the call, that of the whole last."""
    return tuple(_Peaks(timeline).rows())


def read_eager_peak(report: Report, base: int) -> MemoryPeak | None:
    """What eager holds at most, where a record has that; with the same base."""
    row = next(iter(report.eager_memory), None)
    if row is None:
        return None
    tensors = plural(row.unsized, "tensor")
    unsized = f"; {tensors} with data-dependent sizes" if row.unsized else ""
    missing = f"{row.missing}{unsized}"
    return MemoryPeak(
        "eager", base + row.bytes, base, None, None, row.operator, missing, row.source
    )


def explain_no_eager(report: Report) -> str:
    """Why a record has no peak of eager; empty where it has one."""
    if len(report.eager_memory):
        return ""
    if SHARDS in report.extra:
        return (
            "eager is not counted for a fully_shard model, because it would hold unsharded "
            "parameters"
        )
    return report.why_missing(_EAGER) or (
        "eager's peak was not counted; .memory(eager=True) on the result of aot_compile counts it"
    )


class _Peaks:
    def __init__(self, timeline: Timeline):
        self._timeline = timeline
        self._missing = list_missing(timeline)
        self._base = count_base_bytes(timeline)
        has_hooks = SHARDS in timeline.report.extra
        self._source = COUNTED_WITH_HOOKS if has_hooks else COUNTED
        walk = timeline.walk
        devices = list_devices(timeline.report)
        is_cuda = bool(devices) and all(map(is_gpu, devices))
        self._blocks = None
        if is_cuda and len(devices) == 1 and not walk.unknown:
            inside, own = self._in_the_allocator()
            sizes = walk_allocator(inside, len(walk.moments))
            self._blocks = [(own + allocated, own + reserved) for allocated, reserved in sizes]

    def _in_the_allocator(self) -> tuple[list[Storage], int]:
        """Storages that torch's allocator makes, and the bytes of others.

        A package takes its constants from CUDA itself, in one piece: `RAII_gpuMalloc` of
        aoti_runtime/model_base.h.
        """
        timeline = self._timeline
        texts = [timeline.report.texts[wrapper.text or ""] for wrapper in timeline.wrappers]
        if not any(map(is_cpp_program, texts)):
            return timeline.walk.storages, 0
        constants = {name for (_, name), row in timeline.buffers.items() if row.kind == "constant"}
        inside = [s for s in timeline.walk.storages if s.names[0] not in constants]
        own = sum(s.bytes for s in timeline.walk.storages if s.names[0] in constants)
        return inside, own

    def rows(self) -> Iterator[MemoryPeak]:
        walk, wrappers = self._timeline.walk, self._timeline.wrappers
        backward = {n for n, wrapper in enumerate(wrappers) if wrapper.is_backward}
        first = next((n for n, s in enumerate(walk.steps) if s.program in backward), None)
        if first is None:
            yield self._peak("inference", 0, len(walk.steps))
            return
        yield self._peak("forward", 0, first)
        yield self._peak("backward", first, len(walk.steps))
        yield self._peak("step", 0, len(walk.steps))

    def _peak(self, scope: str, start: int, end: int) -> MemoryPeak:
        walk = self._timeline.walk
        last = len(walk.steps) - 1
        inside = [
            (bytes_, -place, moment)
            for moment, (bytes_, step) in enumerate(walk.moments)
            if start <= (place := min(step, last)) < end
        ]
        bytes_, place, _ = max(inside, default=(0, 0, 0))
        step = walk.steps[-place] if inside and last >= 0 else None
        blocks = self._blocks
        held = [blocks[moment] for _, _, moment in inside] if blocks is not None else []
        return MemoryPeak(
            scope,
            bytes_,
            self._base,
            -place,
            self._timeline.kernels[-place] if step else None,
            step.kernel if step else "",
            self._missing,
            f"{self._source}; {MODEL}" if held else self._source,
            max((allocated for allocated, _ in held), default=None),
            max((reserved for _, reserved in held), default=None),
        )


BLOCK, SMALL, SMALL_SEGMENT = 512, 1 << 20, 2 << 20
LARGE, LARGE_SEGMENT, STEP = 10 << 20, 20 << 20, 2 << 20
MODEL = (
    "reserved bytes, modelled for torch's caching allocator with default options. Not modelled: "
    "device context, library workspaces, expandable segments, several streams, frees on a full "
    "device, other calls"
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
        insort(self._free[block.is_small], block, key=lambda free: free.order)

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
        insort(self._free[block.is_small], rest, key=lambda free: free.order)

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

"""Runs a kernel in the interpreter and notes what is wrong."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from linecache import getline
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import torch
import triton

from workbench.compiler.interpreter.triton.triton_kernels import (
    BatchedBuilder,
    Memory,
    OutOfBoundsError,
    PromiseBroken,
    read_memory,
    run_grid,
    write_memory,
)
from workbench.compiler.interpreter.watched.access_log import (
    LIMIT,
    Access,
    AccessLog,
    Kind,
    Place,
    compact_access,
    list_grains,
)
from workbench.compiler.interpreter.watched.arena import Arena
from workbench.compiler.interpreter.watched.race_search import find_faults, list_read_first
from workbench.compiler.interpreter.watched.watched_call import Fault, Watch, Watched
from workbench.compiler.kernels.kernel_call import name_tensors, unship

Array = np.ndarray[Any, Any]


class TimeOverError(BaseException):
    """The time is over; nothing in a kernel catches it."""


def watch_call(asked: Watch, builder: BatchedBuilder) -> Watched:
    """Run the call that was sent, in the first configuration of its autotuner; see `Watch`."""
    with asked.context.entered():
        call = unship(Path(asked.folder))
        config = call.configs[0].all_kwargs() if call.configs else {}
        parameters = call.parameters
        meta = {name: v for name, v in call.all_meta(config).items() if name in parameters}
        arguments = {**call.arguments, **meta}
        if call.configs and (hook := getattr(call.configs[0], "pre_hook", None)):
            hook(arguments)
        return watch_kernel(
            builder,
            call.jit,
            {name: arguments[name] for name in parameters if name in arguments},
            call.resolve_grid(config),
            fresh=asked.fresh,
            sample=asked.sample,
            seconds=asked.seconds,
        )


def watch_kernel(
    builder: BatchedBuilder,
    kernel: Any,
    arguments: Mapping[str, Any],
    grid: tuple[int, int, int],
    *,
    fresh: tuple[str, ...] = (),
    sample: int | None = None,
    seconds: float = 60.0,
) -> Watched:
    """Run all programs of the grid, or a sample, and say what is wrong. The arguments stay.

    With an argument on meta only accesses out of bounds are told: those that its zeros lead to.
    """
    start = time.perf_counter()
    total = grid[0] * grid[1] * grid[2]
    chosen = None if sample is None or sample >= total else choose_programs(grid, sample)
    stopped, kind, place = "", "", -1
    in_order = False
    while True:
        arena = Arena(arguments, fresh)
        memory = WatchingMemory(arena, builder, grid)
        builder.operations = Counter()
        try:
            with _limited(seconds):
                run_grid(
                    builder,
                    kernel,
                    arena.arguments,
                    grid,
                    memory=memory,
                    sample=chosen,
                    in_order=in_order,
                )
        except NeedsOrderError:
            in_order = True
            continue
        except (Exception, TimeOverError) as error:  # a wrong kernel raises whatever Python can
            if _find_cause(error, NeedsOrderError):
                in_order = True
                continue
            stopped, kind = _explain(error)
            place = memory.find_stop(error)
        break
    log = memory.make_log(total if chosen is None else len(chosen), is_sample=chosen is not None)
    if any(one.is_meta for one in name_tensors(arguments).values()):
        outside = tuple(fault for fault in memory.faults if fault.kind == "out of bounds")
        seconds = time.perf_counter() - start
        return Watched(
            log,
            outside,
            stopped=stopped,
            stopped_kind=kind,
            stopped_place=place,
            seconds=seconds,
            has_strays=bool(memory.strays),
        )
    unjudged: dict[str, str] = {}
    faults = list(memory.faults)
    if memory.has_exchange:
        unjudged["races"] = (
            "program instances wait for one another through atomics, which orders them"
        )
    logged = list(find_faults(log, fresh))
    ordered = ("race", "race, same value", "not judged") if memory.has_exchange else ()
    faults += [fault for fault in logged if fault.kind not in ordered]
    if memory.is_full:
        unjudged["races between all accesses"] = (
            "the log was full; pass sample= to run fewer program instances"
        )
    for line in sorted({log.places[place].line for place in memory.strays}):
        unjudged[f"line {line}"] = (
            "its addresses do not come from an argument (for example from a loaded pointer), so "
            "its memory is unknown"
        )
    written = {
        held.name
        for access in log.accesses
        if access.kind != "read"
        for held in [log.arguments[access.argument]]
    }
    return Watched(
        log,
        tuple(faults),
        {part.held.name: _read(arena, part) for part in arena.parts if part.held.name in written},
        {} if chosen is None else _find_written(log),
        stopped,
        kind,
        place,
        unjudged,
        tuple(name for name in list_read_first(log) if name not in fresh),
        time.perf_counter() - start,
        has_strays=bool(memory.strays),
    )


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise `TimeOverError` in this thread, the main one, when the time is over."""

    def end(number: int, frame: FrameType | None) -> None:
        raise TimeOverError(f"it did not end within {seconds:g} s")

    former = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def choose_programs(grid: tuple[int, int, int], most: int) -> Array:
    """The numbers of programs all over the grid, with neighbours on its first two axes.

    The last one, where a size that is no multiple of a block shows, is among several.
    """
    total = grid[0] * grid[1] * grid[2]
    anchors = np.linspace(0, total - 1, most // 3 + 1).astype(np.int64)
    # the first ones make up the number where anchors and neighbours meet
    near = np.stack([anchors, anchors + 1, anchors + grid[0]], 1).reshape(-1)
    around = np.concatenate([[0, total - 1], near, np.arange(min(total, most))])
    _, first = np.unique(around, return_index=True)
    ordered = around[np.sort(first)]
    return np.sort(ordered[ordered < total][:most])


def _find_cause(error: BaseException, kind: type[BaseException]) -> bool:
    while error.__cause__ is not None:
        error = error.__cause__
    return isinstance(error, kind)


def _explain(error: BaseException) -> tuple[str, str]:
    """Why a run did not come to its end, and of which kind that is."""
    cause = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    words = str(cause).strip().partition("\n")[0].rstrip(".") or type(cause).__name__
    if isinstance(cause, TimeOverError):
        return words, "time"
    if isinstance(cause, PromiseBroken):
        return words, "assertion"
    if isinstance(cause, OutOfBoundsError):
        return words, "out of bounds"
    if isinstance(cause, NotImplementedError):
        return words, "not interpreted"
    return f"{type(cause).__name__}: {words}", "error"


def _read(arena: Arena, part: Any) -> bytes:
    return arena.memory[part.start - arena.begin : part.end - arena.begin].tobytes()


def _find_written(log: AccessLog) -> dict[str, Array]:
    """The elements that plain writes of the sample reached, and no atomic."""
    by_name: dict[str, Array] = {}
    for access in log.accesses:
        held = log.arguments[access.argument]
        if access.kind == "read" or access.size < held.size:
            continue
        reached = by_name.setdefault(held.name, np.zeros(-(-held.span // held.size), dtype=np.int8))
        reached[list_grains(access, held.size)] |= 1 if access.kind == "write" else 2
    return {name: reached == 1 for name, reached in by_name.items()}


_MOST_PROGRAMS = 256  # that a fault names
_NOT_USERS = (
    "<string>",  # what dataclasses write for Triton's own; a kernel has a source that can be read
    str(Path(__file__).parents[3]) + os.sep,
    *(str(Path(module.__file__ or "").parent) + os.sep for module in (triton, np, torch)),
)


class NeedsOrderError(Exception):
    """Programs wait for one another by atomics, so they have to run one after the other."""


@dataclass
class _Outside:
    """Accesses of one line outside of one argument: the first, and how many there are."""

    fault: Fault
    count: int = 0
    programs: set[int] = field(default_factory=set)


class WatchingMemory(Memory):
    """The memory of one run in an arena; `grid` has the programs by axis."""

    def __init__(self, arena: Arena, builder: BatchedBuilder, grid: tuple[int, int, int]):
        super().__init__(arena.tensors.values())
        self._arena, self._builder, self._grid = arena, builder, grid
        self._accesses: list[Access] = []
        self._outside: dict[tuple[str, str, int], _Outside] = {}
        self._places: dict[Place, int] = {}
        self._marked = self._bytes = self._step = self._epoch = self._programs = 0
        self._before: dict[tuple[str, str, int], tuple[int, set[int]]] = {}
        self.has_exchange = self.is_full = False
        self.strays: set[int] = set()  # places that reach what no argument leads to

    @property
    def faults(self) -> list[Fault]:
        """What is out of bounds, by line and argument."""
        return [
            replace(
                entry.fault,
                count=entry.count,
                programs=tuple(sorted(entry.programs)[:_MOST_PROGRAMS]),
            )
            for entry in self._outside.values()
        ]

    def make_log(self, programs: int, *, is_sample: bool) -> AccessLog:
        """What was noted of so many programs."""
        held = tuple(part.held for part in self._arena.parts)
        return AccessLog(
            self._grid,
            held,
            tuple(self._places),
            tuple(self._accesses),
            dict(self._builder.operations),
            programs,
            not (self.is_full or is_sample),
        )

    # accesses

    def load(self, pointers: Array, mask: Array, other: Array, dtype: np.dtype[Any]) -> Array:
        """Read what lies in the arguments, take `other` elsewhere."""
        allowed = self._admit("read", pointers, mask, dtype.itemsize)
        return read_memory(pointers, allowed, other, dtype)

    def store(self, pointers: Array, values: Array, mask: Array) -> None:
        """Write what lies in the arguments, and note the values."""
        noted = len(self._accesses)
        allowed = self.keep(pointers, mask, values.dtype)
        for place in range(noted, len(self._accesses)):
            bits = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
            self._bytes += bits.nbytes
            self._accesses[place] = replace(self._accesses[place], values=bits)
        write_memory(np.ascontiguousarray(pointers), values, allowed)

    def keep(
        self,
        pointers: Array,
        mask: Array,
        dtype: np.dtype[Any],
        kind: str = "write",
        *,
        orders: bool = False,
    ) -> Array:
        """Check and note a write, remember what it overwrites; return where it may be done."""
        if kind == "exchange":
            self.has_exchange = True
            if self._builder.batch > 1:
                raise NeedsOrderError
        what: Kind = "write" if kind == "write" else "atomic"
        allowed = self._admit(what, pointers, mask, dtype.itemsize, orders=orders)
        self._epoch += orders  # its lanes wait for one another
        pointers, allowed = np.ascontiguousarray(pointers), np.ascontiguousarray(allowed)
        return super().keep(pointers, allowed, dtype)

    def take_pointers(self, pointers: Array) -> Array:
        """Those into another process are moved to where they meet nothing of this one."""
        places = np.searchsorted(self._arena.starts, pointers, side="right") - 1
        is_own = (places >= 0) & (pointers < self._arena.ends[np.maximum(places, 0)])
        moved: Array = np.where(is_own, pointers, pointers | np.uint64(1 << 63))
        return moved

    def part_epochs(self) -> None:
        """What was written before is seen by all lanes of the program."""
        self._epoch += 1

    def mark(self) -> None:
        """Let stand what was done, and what was noted."""
        super().mark()
        self._marked = len(self._accesses)
        self._before = {key: (o.count, set(o.programs)) for key, o in self._outside.items()}

    def undo(self) -> None:
        """Programs that went different ways are run again: forget what they did."""
        super().undo()
        self._bytes -= sum(access.nbytes for access in self._accesses[self._marked :])
        del self._accesses[self._marked :]
        for key in list(self._outside):
            if key not in self._before:
                del self._outside[key]
            else:
                self._outside[key].count, self._outside[key].programs = self._before[key]

    def _check(self, *_: Any) -> None:
        """Has been done by `_admit`, which knows the views and not only the storages."""

    def _admit(
        self, kind: Kind, pointers: Array, mask: Array, size: int, *, orders: bool = False
    ) -> Array:
        """The mask without what is outside, which is reported; the rest is noted."""
        self._step += 1
        if not pointers.size:
            return mask
        part = self._find_whole(int(pointers.min()), int(pointers.max()), size)
        if part is None:
            used = pointers[mask]
            if not used.size:
                return mask
            part = self._find_whole(int(used.min()), int(used.max()), size)
        if part is not None:
            self._log(kind, part, pointers, mask, size, orders)
            return mask
        return self._sort_out(kind, pointers, mask, size, orders)

    def _find_whole(self, first: int, last: int, size: int) -> int | None:
        """The part without holes that both addresses lie in."""
        place = int(np.searchsorted(self._arena.starts, np.uint64(first), side="right")) - 1
        if place < 0:
            return None
        part = self._arena.parts[place]
        return place if part.inside is None and last + size <= part.end else None

    def _sort_out(self, kind: Kind, pointers: Array, mask: Array, size: int, orders: bool) -> Array:
        """Element by element, which argument it lies in."""
        arena = self._arena
        place = np.searchsorted(arena.starts, pointers, side="right") - 1
        good = (place >= 0) & (pointers + np.uint64(size) <= arena.ends[np.maximum(place, 0)])
        for number, part in enumerate(arena.parts):
            if part.inside is not None:
                here = good & (place == number)
                good[here] = part.inside[pointers[here] - np.uint64(part.start)]
        allowed: Array = mask & good
        for number in np.unique(place[allowed]):
            self._log(kind, int(number), pointers, allowed & (place == number), size, orders)
        outside = mask & ~good
        if outside.any():
            self._report(kind, pointers, outside, size)
        return allowed

    def _log(
        self, kind: Kind, number: int, pointers: Array, mask: Array, size: int, orders: bool
    ) -> None:
        if self._bytes > LIMIT:
            self.is_full = True
            return
        access = compact_access(
            kind,
            self._find_place(),
            number,
            size,
            self._step,
            self._epoch,
            self._number(),
            pointers,
            mask,
            self._arena.parts[number].start,
            orders=orders,
            handovers=self._builder.handovers,
        )
        self._bytes += access.nbytes
        self._accesses.append(access)

    def _report(self, kind: Kind, pointers: Array, outside: Array, size: int) -> None:
        rows = np.argwhere(outside)
        first = rows[0]
        owner = self._arena.find_owner(int(pointers[tuple(first)]))
        if owner is None:
            self.strays.add(self._find_place())
            return
        part, offset = owner
        numbers = self._number()
        key = kind, part.held.name, self._find_place()
        is_each = len(pointers) == 1  # what is the same for all programs is done by each
        programs = numbers if is_each else numbers[np.unique(rows[:, 0])]
        if key not in self._outside:
            self._outside[key] = _Outside(
                Fault(
                    "out of bounds",
                    key[2],
                    part.held.name,
                    kind,
                    offset,
                    int(programs[0]),
                    tuple(map(int, first[1:])),
                )
            )
        entry = self._outside[key]
        entry.count += len(rows) * (len(numbers) if is_each else 1)
        if len(entry.programs) < _MOST_PROGRAMS:
            entry.programs.update(map(int, programs))

    # where

    def _number(self) -> Array:
        """The programs of the batch, counted along the first axis of the grid, then the others."""
        x, y, z = self._builder.programs
        width, height, depth = self._grid
        if width * height * depth < 1 << 31:  # the log has one for each program and access
            numbers: Array = (x + width * (y + height * z)).astype(np.int32)
            return numbers
        wide: Array = x + width * (y.astype(np.int64) + height * z.astype(np.int64))
        return wide

    def _find_place(self) -> int:
        """The innermost line of the user's code that asks for the access."""
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_NOT_USERS):
            frame = frame.f_back
        place = Place("", 0)
        if frame is not None:
            place = find_place(frame.f_code, frame.f_code.co_filename, frame.f_lasti)
        return self._places.setdefault(place, len(self._places))

    def find_stop(self, error: BaseException) -> int:
        """The innermost line of the user's code that raised, -1 where there is none."""
        stop = -1
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if not code.co_filename.startswith(_NOT_USERS):
                place = find_place(code, code.co_filename, trace.tb_lasti)
                stop = self._places.setdefault(place, len(self._places))
            trace = trace.tb_next
        return stop


@cache
def find_place(code: CodeType, file: str, instruction: int) -> Place:
    """Where an instruction stands; Triton compiles kernels without their indentation.

    The same text in two files is one key to CPython, which compares code without its file.
    """
    positions = list(code.co_positions())[instruction // 2]
    line, column = positions[0], positions[2]
    head = getline(file, code.co_firstlineno)
    indent = len(head) - len(head.lstrip())
    return Place(file, line or 0, 0 if column is None else column + indent + 1, code.co_name)

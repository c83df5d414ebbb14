"""Runs a kernel in the interpreter and notes what is wrong."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from workbench.compiler.interpreter.triton.triton_kernels import (
    BatchedBuilder,
    OutOfBoundsError,
    PromiseBroken,
    run_grid,
)
from workbench.compiler.interpreter.watched.access_log import AccessLog, list_grains
from workbench.compiler.interpreter.watched.arena import Arena
from workbench.compiler.interpreter.watched.race_search import find_faults, list_read_first
from workbench.compiler.interpreter.watched.watched_call import Watch, Watched
from workbench.compiler.interpreter.watched.watching_memory import (
    NeedsOrderError,
    WatchingMemory,
)
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
        given = {**call.arguments, **meta}
        if call.configs and (hook := getattr(call.configs[0], "pre_hook", None)):
            hook(given)
        return watch_kernel(
            builder, call.jit, {name: given[name] for name in parameters if name in given},
            call.resolve_grid(config), fresh=asked.fresh, sample=asked.sample,
            seconds=asked.seconds,
        )  # fmt: skip


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
                run_grid(builder, kernel, arena.arguments, grid, memory=memory, sample=chosen,
                         in_order=in_order)  # fmt: skip
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
        return Watched(log, outside, stopped=stopped, stopped_kind=kind, stopped_place=place,
                       seconds=seconds, has_strays=bool(memory.strays))  # fmt: skip
    unjudged: dict[str, str] = {}
    faults = list(memory.faults)
    if memory.has_exchange:
        unjudged["races"] = "programs wait for one another by atomics, which order them"
    found = list(find_faults(log, fresh))
    ordered = ("race", "race, same value", "not judged") if memory.has_exchange else ()
    faults += [fault for fault in found if fault.kind not in ordered]
    if memory.is_full:
        unjudged["races between all accesses"] = "the log was full; pass sample= to run less"
    for line in sorted({log.places[place].line for place in memory.strays}):
        unjudged[f"line {line}"] = (
            "its addresses come from no argument, as those of a pointer that is loaded, and what "
            "lies there is not known"
        )
    written = {
        held.name for access in log.accesses if access.kind != "read"
        for held in [log.arguments[access.argument]]
    }  # fmt: skip
    return Watched(
        log, tuple(faults),
        {part.held.name: _read(arena, part) for part in arena.parts if part.held.name in written},
        {} if chosen is None else _find_written(log),
        stopped, kind, place, unjudged,
        tuple(name for name in list_read_first(log) if name not in fresh),
        time.perf_counter() - start, has_strays=bool(memory.strays),
    )  # fmt: skip


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
    found: dict[str, Array] = {}
    for access in log.accesses:
        held = log.arguments[access.argument]
        if access.kind == "read" or access.size < held.size:
            continue
        reached = found.setdefault(held.name, np.zeros(-(-held.span // held.size), dtype=np.int8))
        reached[list_grains(access, held.size)] |= 1 if access.kind == "write" else 2
    return {name: reached == 1 for name, reached in found.items()}

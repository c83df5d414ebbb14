"""Keeps down what CPython itself costs a compilation: collections of garbage, chunks of frames."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from workbench.compiler.internals import torch_private as tp

_ALLOCATIONS = 600_000
"""New containers after which Python collects all the same; a small first compilation makes less."""
_ROUNDS = 1000
"""Collections of the young before one of everything; a compilation of 1,000 nodes makes 100."""
_FROZEN_BY_PYTHON = 1_000
"""More than Python 3.12 freezes when it starts (375 counted), less than whoever calls gc.freeze."""


@contextmanager
def gc_throttle() -> Iterator[None]:
    """Collect rarely during the first compilation of this process, and only the young later on.

    Importing torch's compiler makes half a million objects that stay; Python would go through them
    a thousand times in the first compilation, and once or twice, 0.4 s each, in a later one. A
    collector that the user switched off is left as it is.
    """
    before = gc.get_threshold()
    is_first = tp.FX_CODEGEN.module not in sys.modules
    if not gc.isenabled() or not 0 < before[0] < _ALLOCATIONS:
        yield
        return
    held = (_ALLOCATIONS, *before[1:]) if is_first else (*before[:2], max(before[2], _ROUNDS))
    gc.set_threshold(*held)
    try:
        yield
    finally:
        if gc.get_threshold() == held:
            gc.set_threshold(*before)
        if is_first and gc.get_freeze_count() < _FROZEN_BY_PYTHON:
            gc.freeze()  # what is new counts as old without being gone through:
            gc.unfreeze()  # the next full collection finds the garbage in it


@contextmanager
def import_uncollected() -> Iterator[None]:
    """Import what stays for the life of this process; no collection goes through it, now or later.

    For a process of our own. Collections take a fifth of the import of torch's compiler.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def collect_in_pauses() -> None:
    """Have Python collect rarely for the rest of this process, whose pauses `gc.collect` is for.

    For a process of our own. What a compilation makes is nearly all in use until its end, and to
    look for garbage in it takes a twentieth of the time.
    """
    gc.set_threshold(_ALLOCATIONS, _ROUNDS, _ROUNDS)


P = ParamSpec("P")
R = TypeVar("R")

_SLOTS = 65_600
"""Values of 8 bytes: just over 512 KiB, so that the chunk is 1 MiB and half of it is left over."""


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)


_call_with_room = FunctionType(_call.__code__.replace(co_stacksize=_SLOTS), {})


def large_stack_chunk(function: Callable[P, R]) -> Callable[P, R]:
    """The function, called with half a MiB for the frames above it in one piece.

    CPython keeps the frames of a thread in chunks of 16 KiB and gives a chunk back to the system as
    soon as its first frame returns (`_PyThreadState_PushFrame` and `PopFrame` in Python/pystate.c).
    A busy loop that happens to run at the end of a chunk maps and unmaps memory with every call: in
    a compilation tens of thousands of page faults, 3 to 7 % of its time. A frame that does not fit
    into 16 KiB gets the next power of two; what it leaves over is there for all frames above it.
    """

    @functools.wraps(function)
    def in_large_chunk(*args: P.args, **kwargs: P.kwargs) -> R:
        result: R = _call_with_room(function, args, kwargs)
        return result

    return in_large_chunk

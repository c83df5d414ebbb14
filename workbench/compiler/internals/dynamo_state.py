"""Keeps our work out of torch's memory: what Dynamo has compiled, which sizes it has seen."""

from __future__ import annotations

import contextlib
import copy
import importlib
import threading
from collections.abc import Iterator
from functools import cache
from types import CodeType
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp

SET_BY_TORCH_COMPILE = (("torch.distributions.distribution", "_validate_args"),)
"""The attributes of classes that `patch_torch` has set, each with the module of its class."""


def patch_torch() -> None:
    """Have torch.compile switch off, for the process, what Dynamo cannot trace of torch.

    It does so where a function is first given to it: distributions no longer check their
    arguments, steps of optimizers are not looked into. Capturing ahead of time leaves that out.
    """
    torch.compile(patch_torch, backend="eager")  # the function is not called


@contextlib.contextmanager
def preserved() -> Iterator[None]:
    """Forget, at the end, what was compiled and which sizes were seen inside.

    Random state and counters are put back, and code that had been compiled before keeps its
    entries. A mark "skip this code" is taken off first, else Dynamo would not look at it again.
    One thread at a time: entries that another one is running must not be taken away.
    """
    with _turn():
        yield from _preserved()


@cache
def _turn() -> threading.RLock:
    return threading.RLock()


def _preserved() -> Iterator[None]:
    codes = _codes()  # held until the end: another one cannot get the place of one that is gone
    before = {id(code): [entry.code for entry in _entries(code)] for code in codes}
    for code in codes:
        if not before[id(code)]:
            _reset(code)
    counters = tp.COUNTERS.find()
    counted = {} if counters is None else {key: part.copy() for key, part in counters.items()}
    reasons = tp.GRAPH_BREAK_REASONS.find()
    length = 0 if reasons is None else len(reasons)
    random = torch.random.get_rng_state()
    try:
        with restore_automatic_dynamic():
            yield
    finally:
        torch.random.set_rng_state(random)
        for code in _codes():
            _forget(code, before.get(id(code), []))
        if counters is not None:
            counters.clear()
            counters.update(counted)
        if reasons is not None:
            del reasons[length:]


def _codes() -> list[CodeType]:
    """The code objects that Dynamo has looked at."""
    trackers = (tp.INPUT_CODES.find(), tp.OUTPUT_CODES.find())
    references = (r for tracker in trackers if tracker is not None for r in tracker.seen)
    return [code for reference in references if (code := reference()) is not None]


def _entries(code: CodeType) -> list[Any]:
    """What is compiled for a code now; not to be kept: torch frees it under whoever holds it."""
    entries = tp.CACHE_ENTRIES.find()
    return [] if entries is None else list(entries(code))


def _reset(code: CodeType) -> None:
    reset = tp.RESET_CODE.find()
    if reset is not None:
        reset(code)


def _forget(code: CodeType, earlier: list[CodeType]) -> None:
    """Drop what was compiled for a code since; all of it when nothing had been before."""
    if not earlier:
        _reset(code)
        return
    earlier_ids = {id(compiled) for compiled in earlier}
    deleted = tp.DELETED_GUARDS.find()
    for entry in _entries(code):
        if id(entry.code) not in earlier_ids and deleted is not None:
            reason = "it was compiled to explain the function"
            entry.guard_manager.extra_state.invalidate(entry, deleted(reason))


@contextlib.contextmanager
def restore_automatic_dynamic() -> Iterator[None]:
    """Inside, torch knows the sizes that it knew before; at the end it forgets what it saw inside.

    Of a dimension that had two sizes, `torch.compile` makes a symbol at once, also when one of them
    came from a compilation of ours: the user's first compilation would then be a dynamic one.
    """
    held = {row: row.find() for row in (tp.SIZES_SEEN, tp.SIZES_FROM_CACHE)}
    sizes = held[tp.SIZES_SEEN]
    if sizes is not None:  # else torch begins inside
        _put(tp.SIZES_SEEN, _copied(sizes))
    try:
        yield
    finally:
        for row, value in held.items():
            _put(row, value)


@contextlib.contextmanager
def forget_automatic_dynamic() -> Iterator[None]:
    """Inside, torch has seen no size yet; at the end it knows what it knew before."""
    with restore_automatic_dynamic():
        sizes = tp.SIZES_SEEN.find()
        if sizes is not None:  # the copy that stands there inside
            sizes.clear()
        yield


def _put(row: tp.Name, value: Any) -> None:
    module = importlib.import_module(row.module)
    if hasattr(module, row.attribute):
        setattr(module, row.attribute, value)


def _copied(sizes_by_code: Any) -> Any:
    """The sizes by code and by name of the input; torch changes the innermost entries in place."""
    copied = copy.copy(sizes_by_code)
    for code, state in sizes_by_code.items():
        twin = copy.copy(state)
        twin.automatic_dynamic = copy.copy(state.automatic_dynamic)
        for name, sizes in state.automatic_dynamic.items():
            twin.automatic_dynamic[name] = copy.copy(sizes)
        copied[code] = twin
    return copied

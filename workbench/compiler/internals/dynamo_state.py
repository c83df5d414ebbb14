"""Keeps our explanations of a function out of what Dynamo has compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import CodeType
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.automatic_dynamic_state import automatic_dynamic_state


@contextlib.contextmanager
def preserved() -> Iterator[None]:
    """Forget, at the end, what was compiled and which sizes were seen inside.

    Random state and counters are put back, and code that had been compiled before keeps its
    entries. A mark "skip this code" is taken off first, else Dynamo would not look at it again.
    """
    before = {id(code): _entries(code) for code in _codes()}
    for code in _codes():
        if not before[id(code)]:
            _reset(code)
    counters = _copied_counters()
    reasons = tp.GRAPH_BREAK_REASONS.find()
    length = 0 if reasons is None else len(reasons)
    random = torch.random.get_rng_state()
    try:
        with automatic_dynamic_state():
            yield
    finally:
        torch.random.set_rng_state(random)
        for code in _codes():
            _forget(code, before.get(id(code), []))
        _restore_counters(counters)
        if reasons is not None:
            del reasons[length:]


def _codes() -> list[CodeType]:
    """The code objects that Dynamo has looked at."""
    found: list[CodeType] = []
    for tracker in (tp.INPUT_CODES.find(), tp.OUTPUT_CODES.find()):
        for reference in () if tracker is None else tracker.seen:
            code = reference()
            if code is not None:
                found.append(code)
    return found


def _entries(code: CodeType) -> list[Any]:
    entries = tp.CACHE_ENTRIES.find()
    return [] if entries is None else list(entries(code))


def _reset(code: CodeType) -> None:
    reset = tp.RESET_CODE.find()
    if reset is not None:
        reset(code)


def _forget(code: CodeType, kept: list[Any]) -> None:
    """Drop what was compiled for a code since; all of it when nothing had been before."""
    if not kept:
        _reset(code)
        return
    known = {id(entry.code) for entry in kept}
    deleted = tp.DELETED_GUARDS.find()
    for entry in _entries(code):
        if id(entry.code) not in known and deleted is not None:
            reason = "it was compiled to explain the function"
            entry.guard_manager.extra_state.invalidate(entry, deleted(reason))


def _copied_counters() -> dict[str, Any]:
    counters = tp.COUNTERS.find()
    return {} if counters is None else {key: part.copy() for key, part in counters.items()}


def _restore_counters(saved: dict[str, Any]) -> None:
    counters = tp.COUNTERS.find()
    if counters is not None:
        counters.clear()
        counters.update(saved)

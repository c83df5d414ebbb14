"""The steps of opening a file, told to whoever measures them; nobody else pays for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

IMPORTS, READ, UNPACK, REBUILD, DLOPEN, GUARDS = (
    "imports",
    "read",
    "unpack",
    "rebuild",
    "dlopen",
    "guards",
)
"""What a loader does: import what it needs, read and check the file, unzip and verify it, rebuild
the objects in it, start its libraries, make the checks of a call."""


@dataclass
class Stopwatch:
    """Cuts a stretch of time into named steps, one after the other; seconds of `clock`.

    A step goes on until the next one begins, so that the steps add up to the whole.
    """

    clock: Callable[[], float] = time.perf_counter
    _began: list[tuple[str, float]] = field(default_factory=list)

    def begin(self, name: str, at: float | None = None) -> None:
        """A step begins, and the one before it ends: now, or at a moment that was noted."""
        self._began.append((name, self.clock() if at is None else at))

    @property
    def now(self) -> str | None:
        """The step that goes on."""
        return self._began[-1][0] if self._began else None

    def intervals(self) -> list[tuple[str, float, float]]:
        """Each stretch: the name of its step, start and end; the last one ends now."""
        ends = [start for _, start in self._began[1:]] + [self.clock()]
        return [(name, start, end) for (name, start), end in zip(self._began, ends, strict=True)]


_WATCH: ContextVar[Stopwatch | None] = ContextVar("stopwatch of the loader", default=None)


@contextmanager
def measured(watch: Stopwatch) -> Iterator[None]:
    """Tell the steps of what is loaded meanwhile, in this thread, to a stopwatch."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


def begin(name: str) -> None:
    """From here on the loader is at another step."""
    watch = _WATCH.get()
    if watch is not None:
        watch.begin(name)


@contextmanager
def step(name: str) -> Iterator[None]:
    """A step inside another one, which goes on afterwards."""
    watch = _WATCH.get()
    outer = None if watch is None else watch.now
    begin(name)
    try:
        yield
    finally:
        if outer is not None:
            begin(outer)

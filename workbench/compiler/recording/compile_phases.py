"""The timeline of a compilation: nested phases with their own time, one stack per thread."""

from __future__ import annotations

import json
import linecache
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook, Patches
from workbench.compiler.internals.trace import Record
from workbench.report import Phase
from workbench.report.rows import Span, list_phase_rows
from workbench.tasks.progress_events import ProgressCallback

PANE = "phases"
_OF_ONE_KERNEL = "async_compile.precompile"
_DEFINED = re.compile(r"(\w+) = async_compile\.\w+\(")


@dataclass(frozen=True, slots=True)
class Mark:
    """The begin or the end of a phase; `at` is in seconds."""

    name: str
    is_begin: bool
    at: float
    thread: int
    compile_id: str | None


class PhaseRecorder:
    """Collects the marks that torch sends.

    `on_phase` is called at every begin in the thread that compiles, `on_phase_end` at every end.
    """

    def __init__(self, on_phase: ProgressCallback | None = None):
        self.marks: list[Mark] = []
        self.started = time.time()
        self.thread = threading.get_ident()
        self.on_phase = on_phase
        self.on_phase_end: ProgressCallback | None = None

    def list_hooks(self, patches: Patches) -> Iterator[Hook]:
        """Listen to torch's timers, also in the threads that build C++ kernels."""
        yield Hook("chromium_event", PANE, after=self.take)

        def make(inner: Callable[..., Any]) -> Callable[..., Any]:
            def submit(owner: Any, task: Callable[..., Any]) -> Any:
                return inner(owner, patches.follow(self._named(task)))

            return submit

        yield Hook(tp.ASYNC_SUBMIT, PANE, around=make)

    def _named(self, task: Callable[..., Any]) -> Callable[..., Any]:
        """A task of the thread pool as a phase under the name of the kernel that it builds."""
        kernel = find_kernel_being_loaded()
        if kernel is None:
            return task

        def named() -> Any:
            self.mark(f"build: {kernel}", is_begin=True)
            try:
                return task()
            finally:
                self.mark(f"build: {kernel}", is_begin=False)

        return named

    def take(self, record: Record) -> None:
        """Take one chromium event."""
        event: dict[str, Any] = json.loads(record.payload or "{}")
        if event.get("ph") not in ("B", "E"):
            return
        is_begin = event["ph"] == "B"
        at, name = event["ts"] / 1e6, str(event["name"])
        if name == _OF_ONE_KERNEL and (kernel := find_kernel_being_loaded()) is not None:
            name = f"{name}: {kernel}"
        self._add(Mark(name, is_begin, at, record.thread, record.compile_id))

    def _add(self, mark: Mark) -> None:
        self.marks.append(mark)
        listener = self.on_phase if mark.is_begin else self.on_phase_end
        if listener is not None and mark.thread == self.thread:
            listener(mark.name, max(0.0, mark.at - self.started))

    def mark(self, name: str, *, is_begin: bool) -> None:
        """Begin or end a phase of our own."""
        self._add(Mark(name, is_begin, time.time(), threading.get_ident(), None))

    def rows(self) -> list[Phase]:
        """The phases in order of their start; what never ended ends with its parent."""
        return nest(self.marks, self.started, self.thread)


def find_kernel_being_loaded() -> str | None:
    """The kernel whose definition in a generated program runs now in this thread."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "<module>" and "async_compile" in frame.f_globals:
            line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
            match = _DEFINED.match(line)
            return None if match is None else match[1]
        frame = frame.f_back  # type: ignore[assignment]
    return None


def nest(marks: Iterable[Mark], started: float, main_thread: int) -> list[Phase]:
    """Pair begins with ends, one stack per thread; times are relative to `started`."""
    by_thread: dict[int, list[Mark]] = {}
    for mark in marks:
        by_thread.setdefault(mark.thread, []).append(mark)
    names = {thread: "main" for thread in by_thread if thread == main_thread}
    workers = [thread for thread in by_thread if thread != main_thread]
    names.update({thread: f"worker {n}" for n, thread in enumerate(workers, 1)})
    return list_phase_rows(
        ((span, names[thread]) for thread, part in by_thread.items() for span in _spans(part)),
        started,
    )


def _spans(marks: list[Mark]) -> Iterator[Span]:
    stack: list[Span] = []
    last = 0.0
    for mark in marks:
        last = max(last, mark.at)
        if mark.is_begin:
            stack.append(Span(mark.name, last, last, mark.compile_id, len(stack)))
        elif any(span.name == mark.name for span in stack):
            yield from _close(stack, last, until=mark.name)
    yield from _close(stack, last, until=None)


def _close(stack: list[Span], at: float, *, until: str | None) -> Iterator[Span]:
    """Close phases from the innermost to the one named `until`, or all."""
    while stack:
        span = stack.pop()
        span.end = at
        if stack:
            stack[-1].children_s += at - span.start
        yield span
        if span.name == until:
            return

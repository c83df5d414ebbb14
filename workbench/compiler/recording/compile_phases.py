"""The timeline of a compilation, from torch's timers and those of the threads that build."""

from __future__ import annotations

import json
import linecache
import re
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook, Patches
from workbench.compiler.internals.trace import Record
from workbench.compiler.rows.phase_rows import Mark, read_mark
from workbench.tasks.progress_events import ProgressCallback

PANE = "phases"
_OF_ONE_KERNEL = "async_compile.precompile"
_DEFINED = re.compile(r"(\w+) = async_compile\.\w+\(")


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
        mark = read_mark(event, record.thread, record.compile_id)
        if mark is None:
            return
        if mark.name == _OF_ONE_KERNEL and (kernel := find_kernel_being_loaded()) is not None:
            mark = replace(mark, name=f"{mark.name}: {kernel}")
        self._add(mark)

    def _add(self, mark: Mark) -> None:
        self.marks.append(mark)
        listener = self.on_phase if mark.is_begin else self.on_phase_end
        if listener is not None and mark.thread == self.thread:
            listener(mark.name, max(0.0, mark.at - self.started))

    def mark(self, name: str, *, is_begin: bool) -> None:
        """Begin or end a phase of our own."""
        self._add(Mark(name, is_begin, time.time(), threading.get_ident(), None))

    def name_threads(self) -> dict[Hashable, str]:
        """The names of the threads in which phases were, by torch's numbers."""
        others = dict.fromkeys(mark.thread for mark in self.marks if mark.thread != self.thread)
        workers = {thread: f"worker {n}" for n, thread in enumerate(others, 1)}
        return {self.thread: "main", **workers}


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

"""How far a call is, in one line, where somebody watches: a terminal, or a person's notebook."""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from workbench.number_text import format_seconds
from workbench.tasks.background_task import Steps
from workbench.tasks.progress_events import ProgressCallback
from workbench.views.wire.report_messages import Progress
from workbench.views.words.progress_words import describe_progress

_PATIENCE = 0.5  # seconds before which nothing is shown
_TICK = 0.5  # seconds between two updates while one phase runs
_SHORTEST = 0.1  # seconds between two updates

Write = Callable[[str], object]


@contextmanager
def follow_in_a_line(
    progress: ProgressCallback | None, title: str
) -> Iterator[ProgressCallback | None]:
    """Return the caller's `progress` if given, otherwise one that shows a temporary line."""
    write = _find_writer() if progress is None else None
    if write is None:
        yield progress
        return
    line = ProgressLine(title, write)
    try:
        yield line
    finally:
        line.finish()


class ProgressLine(Steps):
    """Show progress on a single line, updated on each change and at intervals."""

    def __init__(self, title: str, write: Write):
        super().__init__(self._changed)
        self._title, self._write = title, write
        self._written = 0.0
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="progress line", daemon=True)
        self._ticker.start()

    def text(self) -> str:
        """The line's current text."""
        state = self.state()
        progress: Progress = {
            "status": "running",
            "title": self._title,
            "elapsed_s": self.elapsed(),
            "steps": state["steps"],
            "kernels": state["kernels"],
            "can_cancel": False,
            "error": None,
        }
        words = describe_progress(progress) if state["steps"] else ""
        seconds = format_seconds(progress["elapsed_s"])
        return " · ".join(filter(None, [self._title, words, seconds]))

    def finish(self) -> None:
        """Remove the line, and ignore any further progress."""
        self._done.set()
        self._ticker.join()
        with self._lock:
            if self._written:
                self._write("")

    def _tick(self) -> None:
        while not self._done.wait(_TICK):
            self._changed()

    def _changed(self) -> None:
        now = self.elapsed()
        with self._lock:
            if self._done.is_set() or now < max(_PATIENCE, self._written + _SHORTEST):
                return
            self._written = now
            self._write(self.text())


def _find_writer() -> Write | None:
    """How a line is shown here; None where nobody watches, such as a test or a batch run."""
    shell = getattr(builtins, "get_ipython", lambda: None)()
    kernel = getattr(shell, "kernel", None)
    if kernel is not None:
        return _write_as_output() if getattr(kernel, "_allow_stdin", False) else None
    return _write_to_terminal if sys.stderr.isatty() else None


def _write_to_terminal(text: str) -> None:
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()


def _write_as_output() -> Write:
    """One output of the running cell, which every further line takes the place of."""
    from IPython.display import display

    handle: list[Any] = []

    def write(text: str) -> None:
        if handle:
            handle[0].update({"text/plain": text}, raw=True)
        else:
            shown: Any = display  # IPython declares no types
            handle.append(shown({"text/plain": text}, raw=True, display_id=True))

    return write

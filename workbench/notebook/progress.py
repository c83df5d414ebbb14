"""Phases of a running compilation with elapsed time, in one display that is updated in place."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from html import escape
from types import TracebackType
from typing import Any, Self

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

_LINES = 6
_TICK = 0.5  # seconds between two updates while one phase runs
_SHORTEST = 0.1  # seconds between two updates


def is_interactive(shell: InteractiveShell) -> bool:
    """Whether somebody is watching: a person's notebook or terminal, not a test or a batch run."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return bool(sys.stdout.isatty())
    return bool(getattr(kernel, "_allow_stdin", False))


class Phases:
    """The phases so far as text; the last one is running."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._start = clock()
        self.begun: list[tuple[str, float]] = []

    def begin(self, name: str, elapsed: float) -> None:
        """A phase begins, `elapsed` seconds after the start."""
        self.begun.append((name, elapsed))

    def lines(self) -> list[tuple[str, float, bool]]:
        """The last phases: name, duration so far, whether it is the running one."""
        now = self._clock() - self._start
        ends = [*(start for _, start in self.begun[1:]), now]
        rows = [
            (name, max(end - start, 0.0), False)
            for (name, start), end in zip(self.begun, ends, strict=False)
        ]
        if rows:
            rows[-1] = (*rows[-1][:2], True)
        return rows[-_LINES:]

    def title(self) -> str:
        """One line: what runs, for how long in all."""
        name = self.begun[-1][0] if self.begun else "starting"
        return f"Compiling: {name}, {self._clock() - self._start:.1f} s"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        rows = "".join(
            f'<tr><td style="text-align: left">{"▸" if running else "✓"} {escape(name)}</td>'
            f'<td style="text-align: right">{seconds:.1f} s</td></tr>'
            for name, seconds, running in self.lines()
        )
        html = f'<b>{escape(self.title())}</b><table style="font-size: 12px">{rows}</table>'
        return {"text/plain": self.title(), "text/html": html}


class Progress:
    """Call it with a phase and the elapsed seconds; silent when nobody is watching.

    At the end `result`, when it was set, is displayed in its place.
    """

    def __init__(self, shell: InteractiveShell):
        self.result: Any = None
        self._phases = Phases()
        self._in_notebook = getattr(shell, "kernel", None) is not None
        self._is_shown = is_interactive(shell)
        self._handle: Any = None
        self._last = 0.0
        self._done = threading.Event()
        self._ticker: threading.Thread | None = None

    def __call__(self, phase: str, elapsed: float) -> None:
        """A phase begins."""
        self._phases.begin(phase, elapsed)
        self._draw()

    def __enter__(self) -> Self:
        if self._is_shown:
            if self._in_notebook:
                self._handle = display(self._phases, display_id=True)
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._ticker is not None:
            self._ticker.join()
        if self._is_shown and not self._in_notebook:
            sys.stdout.write("\r\x1b[K")
            sys.stdout.flush()
        if self._handle is None:
            if self.result is not None:
                display(self.result)
        elif self.result is None:
            self._handle.update({"text/plain": ""}, raw=True)
        else:
            self._handle.update(self.result)

    def _tick(self) -> None:
        while not self._done.wait(_TICK):
            self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if not self._is_shown or now - self._last < _SHORTEST:
            return
        self._last = now
        if self._handle is not None:
            self._handle.update(self._phases)
        else:
            sys.stdout.write(f"\r\x1b[K{self._phases.title()}")
            sys.stdout.flush()

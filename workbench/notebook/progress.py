"""Phases of a running compilation: in a notebook in its live view, in a terminal in one line."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from workbench.errors import UsageError
from workbench.views.answers.short import progress
from workbench.views.widgets.display import publish_live, take_back
from workbench.views.wire.document import Progress as LiveProgress
from workbench.views.wire.document import StepState
from workbench.views.words.units import seconds_text

if TYPE_CHECKING:
    from workbench.views.widgets.report_view import View

Status = Literal["running", "cancelled", "failed", "done"]
_LINES = 6
_TICK = 0.5  # seconds between two updates while one phase runs
_SHORTEST = 0.1  # seconds between two updates


def is_interactive(shell: InteractiveShell) -> bool:
    """Whether somebody is watching: a person's notebook or terminal, not a test or a batch run."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return bool(sys.stdout.isatty())
    return bool(getattr(kernel, "_allow_stdin", False))


def titled(status: str, call: str) -> str:
    """The heading of a compilation of a call, such as `Compiling model(x)…`."""
    return f"Compiling {call}…" if status == "running" else call


class Phases:
    """The phases so far as text; the last one is running."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._start = clock()
        self.begun: list[tuple[str, float]] = []
        self._ends: dict[int, float] = {}

    def begin(self, name: str, elapsed: float) -> None:
        """A phase begins, `elapsed` seconds after the start."""
        self.begun.append((name, elapsed))

    def end(self, name: str, elapsed: float) -> None:
        """The innermost open phase of that name ends."""
        for index in range(len(self.begun) - 1, -1, -1):
            if self.begun[index][0] == name and index not in self._ends:
                self._ends[index] = elapsed
                return

    def lines(self) -> list[tuple[str, float, bool]]:
        """The last phases: name, duration so far, whether it is the running one."""
        now = self._clock() - self._start
        running = self._running()
        first = max(len(self.begun) - _LINES, 0)
        rows = []
        for index, (name, start) in list(enumerate(self.begun))[first:]:
            end = now if index == running else self._end(index, now)
            rows.append((name, max(end - start, 0.0), index == running))
        return rows

    def _running(self) -> int:
        """The phase that was begun last and has not ended; -1 when there is none."""
        open_ones = [index for index in range(len(self.begun)) if index not in self._ends]
        return open_ones[-1] if open_ones else -1

    def _end(self, index: int, now: float) -> float:
        """When a phase ended; where nobody tells ends, it is when the next one began."""
        if index in self._ends:
            return self._ends[index]
        following = self.begun[index + 1 : index + 2]
        return following[0][1] if following and not self._ends else now

    def title(self) -> str:
        """One line: what runs, for how long in all."""
        running = self._running()
        name = self.begun[running][0] if running >= 0 else "starting"
        return f"Compiling: {name}, {seconds_text(self._clock() - self._start)}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        html = progress(self.title(), self.lines())
        return {"text/plain": self.title(), "text/html": html}

    def state(
        self, status: Status, kernels: Sequence[str], error: str | None, call: str = ""
    ) -> LiveProgress:
        """What the live view shows of the compilation of a call."""
        now = self._clock() - self._start
        running = self._running() if status == "running" else -1
        steps: list[StepState] = []
        for index, (name, start) in enumerate(self.begun):
            is_open = status == "running" and (index == running or bool(self._ends))
            is_open = is_open and index not in self._ends
            duration = None if is_open else round(max(self._end(index, now) - start, 0.0), 3)
            steps.append({"name": name, "start_s": round(start, 3), "duration_s": duration})
        return {
            "status": status,
            "title": titled(status, call),
            "elapsed_s": round(now, 3),
            "steps": steps,
            "kernels": list(kernels),
            "can_cancel": False,
            "error": error,
        }


class ProgressDisplay:
    """Call it with a phase and the elapsed seconds; silent when nobody is watching.

    In a notebook a live view shows it, unless `is_viewed` is false: then a line of text. At the end
    `result`, when it was set, is displayed in its place. `call` is what is compiled.
    """

    def __init__(self, shell: InteractiveShell, call: str = "", *, is_viewed: bool = True):
        self._call = call
        self.result: Any = None
        self.view: View | None = None
        self._phases = Phases()
        self._kernels: list[str] = []
        self._shell = shell
        self._in_notebook = getattr(shell, "kernel", None) is not None
        self._is_shown = is_interactive(shell)
        self._is_viewed = is_viewed
        self._handle: Any = None
        self._last = 0.0
        self._done = threading.Event()
        self._ticker: threading.Thread | None = None

    def __call__(self, phase: str, elapsed: float) -> None:
        """A phase begins."""
        self._phases.begin(phase, elapsed)
        self._draw()

    def end(self, phase: str, elapsed: float) -> None:
        """A phase ends."""
        self._phases.end(phase, elapsed)

    def kernel(self, name: str) -> None:
        """A kernel was generated."""
        self._kernels.append(name)
        self._draw()

    def __enter__(self) -> Self:
        if self._is_shown:
            self._open()
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()
        return self

    def _open(self) -> None:
        if not self._in_notebook:
            return
        if not self._is_viewed:
            self._handle = display(self._phases, display_id=True)
            return
        from workbench.views.widgets.report_view import View

        self.view = View()
        self.view.follow(self._phases.state("running", (), None, self._call))
        publish_live(self._shell, self.view)

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
        if self.view is not None and isinstance(error, UsageError) and self.result is None:
            take_back(self._shell, self.view)  # nothing was compiled
        elif self.view is not None:
            self._close_view(self.view, error)
        elif self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
        if self.result is not None:
            display(self.result)

    def _close_view(self, view: View, error: BaseException | None) -> None:
        status: Status = "done" if error is None else "failed"
        if isinstance(error, KeyboardInterrupt):
            status = "cancelled"
        words = None if error is None else str(error) or type(error).__name__
        view.follow(self._phases.state(status, self._kernels, words, self._call))

    def _tick(self) -> None:
        while not self._done.wait(_TICK):
            self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if not self._is_shown or now - self._last < _SHORTEST:
            return
        self._last = now
        if self.view is not None:
            self.view.follow(self._phases.state("running", self._kernels, None, self._call))
        elif self._handle is not None:
            self._handle.update(self._phases)
        else:
            sys.stdout.write(f"\r\x1b[K{self._phases.title()}")
            sys.stdout.flush()

"""What a cell shows while it runs: in a notebook a live view, in a terminal one line."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from workbench.errors import UsageError, WorkbenchError
from workbench.number_text import format_seconds
from workbench.tasks.background_task import Steps
from workbench.views.answers.fragments import show_progress
from workbench.views.document import ViewContext
from workbench.views.widgets.display import make_live_output, publish, publish_live, show, take_back
from workbench.views.wire.report_messages import Progress
from workbench.views.words.progress_words import describe_progress

if TYPE_CHECKING:
    from workbench.views.widgets.report_view import View

T = TypeVar("T")
Status = Literal["running", "cancelled", "failed", "done"]
_LINES = 6
_TICK = 0.5  # seconds between two updates while one phase runs
_SHORTEST = 0.1  # seconds between two updates
_SHORTEST_OF_JOB = 0.2  # the same for the view of a job


def is_interactive(shell: InteractiveShell) -> bool:
    """Whether somebody is watching: a person's notebook or terminal, not a test or a batch run."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return bool(sys.stdout.isatty())
    return bool(getattr(kernel, "_allow_stdin", False))


def call_in_subshell(shell: InteractiveShell, call: Callable[[], T]) -> T:
    """Call something whose widget messages have no parent, so that answers arrive at once.

    JupyterLab sends what a widget asks to a subshell of ipykernel 7, which reads it while a cell
    runs. From release 7.4 on ipykernel takes it to the shell that has sent last on that widget
    instead: to that of the cell, which is busy. A message without a parent leaves it as it is.
    """
    kernel: Any = getattr(shell, "kernel", None)
    if getattr(kernel, "shell_channel_thread", None) is None:
        return call()  # no subshells
    from ipykernel.kernelbase import Kernel

    def run() -> T:
        Kernel.set_parent(kernel, [], {}, channel="shell")  # of this copy of the context alone
        return call()

    return copy_context().run(run)


def titled(status: str, call: str) -> str:
    """The heading of a compilation of a call, such as `Compiling model(x)…`."""
    return f"Compiling {call}…" if status == "running" else call


class ProgressDisplay(Steps):
    """Call it with a phase and the elapsed seconds; silent when nobody is watching.

    In a notebook a live view shows it, unless `is_viewed` is false: then a line of text. At the end
    `result`, when it was set, is displayed in its place. `call` is what is compiled, for `target`.
    """

    def __init__(
        self,
        shell: InteractiveShell,
        call: str = "",
        *,
        target: str | None = None,
        is_viewed: bool = True,
    ):
        super().__init__(self._draw)
        self._call = call
        self._target = target
        self.result: Any = None
        self.view: View | None = None
        self._shell = shell
        self._in_notebook = getattr(shell, "kernel", None) is not None
        self._is_shown = is_interactive(shell)
        self._is_viewed = is_viewed
        self._handle: Any = None
        self._last = 0.0
        self._done = threading.Event()
        self._ticker: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._is_shown:
            self._open()
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()
        return self

    def _open(self) -> None:
        if not self._in_notebook:
            self._draw()
            return
        if not self._is_viewed:
            self._handle = display(self.text(), raw=True, display_id=True)
            return
        from workbench.views.widgets.report_view import View

        self.view = View()
        self.view.follow(self.shown())
        publish_live(self._shell, self.view)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._done.set()
        if self._ticker is not None:
            self._ticker.join()
        if self._is_shown and not self._in_notebook:
            sys.stdout.write("\r\x1b[K")
            sys.stdout.flush()
        if self.view is not None and isinstance(error, UsageError) and self.result is None:
            take_back(self._shell, self.view)  # nothing was compiled
        elif self.view is not None:
            self.close()
            self.view.follow(self.shown(error))
        elif self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
        if self.result is not None:
            display(self.result)

    def shown(self, error: BaseException | None = None) -> Progress:
        """What the live view shows."""
        status: Status = "running"
        if self._done.is_set():
            status = "done" if error is None else "failed"
        if isinstance(error, KeyboardInterrupt):
            status = "cancelled"
        told = self.state()
        made: Progress = {
            "status": status,
            "title": titled(status, self._call),
            "elapsed_s": self.elapsed(),
            "steps": told["steps"],
            "kernels": told["kernels"],
            "can_cancel": False,
            "error": None if error is None else str(error) or type(error).__name__,
        }
        return {**made, "words": describe_progress(made, self._target)}

    def text(self) -> dict[str, str]:
        """What runs, for how long in all, and the last phases with their durations."""
        now, steps = self.elapsed(), self.state()["steps"]
        running = [step for step in steps if step["duration_s"] is None][-1:]
        title = f"{self.shown()['words']} · {format_seconds(now)}"
        rows = []
        for step in steps[-_LINES:]:
            taken = step["duration_s"]
            seconds = max(now - step["start_s"], 0.0) if taken is None else taken
            rows.append((step["name"], seconds, step in running))
        return {"text/plain": title, "text/html": show_progress(title, rows)}

    def _tick(self) -> None:
        while not self._done.wait(_TICK):
            self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if not self._is_shown or now - self._last < _SHORTEST:
            return
        self._last = now
        if self.view is not None:
            self.view.follow(self.shown())
        elif self._handle is not None:
            self._handle.update(self.text(), raw=True)
        else:
            sys.stdout.write(f"\r\x1b[K{self.text()['text/plain']}")
            sys.stdout.flush()


class JobView:
    """Follows a job until it ends, then shows its report in place."""

    def __init__(
        self, job: Any, view: View, context: ViewContext, call: str, target: str | None = None
    ):
        self._target = target
        self._job = job
        self._view = view
        self._context = context
        self._call = call
        self._changed = threading.Event()
        job.on_change = self._changed.set
        self._changed.set()  # what happened before
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while not self._job.done():
            self._changed.wait(timeout=1.0)
            self._changed.clear()
            self._view.follow(state(self._job, self._call, self._target))
            self._job.wait(_SHORTEST_OF_JOB)
        self._present()
        self._view.follow(state(self._job, self._call, self._target))

    def _present(self) -> None:
        try:
            outcome = self._job.result()
        except WorkbenchError as error:
            outcome = error.report
        if outcome is not None:
            show(outcome, self._context, view=self._view)

    def join(self, timeout: float | None = None) -> None:
        """Wait until the view shows the end."""
        self._thread.join(timeout)


def state(job: Any, call: str, target: str | None = None) -> Progress:
    """What a job is doing, under the name of the call."""
    progress: Progress = job.progress
    words = describe_progress(progress, target)
    return {**progress, "title": titled(progress["status"], call), "words": words}


def show_job(
    shell: InteractiveShell, job: Any, name: str, call: str, target: str | None = None
) -> JobView | None:
    """Publish the live view of a job; None where nobody is watching a notebook."""
    if getattr(shell, "kernel", None) is None or not is_interactive(shell):
        return None
    from workbench.views.widgets.report_view import View

    view = View(cancel=job.cancel)
    view.follow(state(job, call, target))
    publish(shell, make_live_output(view))
    return JobView(job, view, ViewContext(f"{name}.result()"), call, target)

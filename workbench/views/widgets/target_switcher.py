"""Compiles what a live view shows for other targets, and shows the result in its place."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError
from workbench.views.wire.document import Progress
from workbench.views.wire.machine import TargetQuestion

if TYPE_CHECKING:
    from workbench.views.widgets.report_view import View

_SHORTEST = 0.2  # seconds between two updates of the view


class Switch:
    """Starts what the front end asks for and follows it; one at a time.

    `engine` compiles: it has `start(target)` and `compare(targets)`, which return a job, and
    `first_for(targets)`, what has to be compiled before kernels can be compared. `present`
    shows a result in the view; its text is the line of Python that gives the same.
    """

    def __init__(self, engine: Any, variable: str, present: Callable[[Any, str, View], None]):
        self._engine = engine
        self._variable = variable
        self._present = present
        self._job: Any = None
        self._title = ""
        self._thread: threading.Thread | None = None

    def __call__(self, view: View, ask: str, question: TargetQuestion) -> None:
        """Start; raises `UsageError` for what cannot be compiled and while something is."""
        if self._job is not None and not self._job.done():
            raise UsageError(f"{self._title} is still being compiled: cancel it first.")
        names = question["targets"]
        if ask == "retarget":
            if len(names) != 1:
                raise UsageError(f"One target takes the place of another: {len(names)} were given.")
            job = self._engine.start(names[0])
            self._follow(
                view, job, f"{job.name} for {names[0]}", f'{self._variable}.on("{names[0]}")'
            )
        else:
            listed = ", ".join(f'"{name}"' for name in names)
            job = self._engine.compare(names)
            first = self._engine.first_for(names)
            compared = self._variable if first is None else f'{self._variable}.on("{first}")'
            line = f"wb.matrix({compared}, targets=[{listed}])"
            self._follow(view, job, job.name, line)

    def cancel(self) -> bool:
        """End what runs; False when nothing does."""
        return self._job is not None and bool(self._job.cancel())

    def join(self, timeout: float | None = None) -> None:
        """Wait until the view shows the end."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _follow(self, view: View, job: Any, title: str, line: str) -> None:
        self._job, self._title = job, title
        view.follow(_state(job, title))
        arguments = (view, job, title, line)
        self._thread = threading.Thread(target=self._until_end, args=arguments, daemon=True)
        self._thread.start()

    def _until_end(self, view: View, job: Any, title: str, line: str) -> None:
        while not job.wait(_SHORTEST):
            view.follow(_state(job, title))
        if job.progress["status"] == "done":
            self._present(job.result(), line, view)
        view.follow(_state(job, title))


def _state(job: Any, title: str) -> Progress:
    found: Progress = job.progress
    running = found["status"] == "running"
    return {**found, "title": f"Compiling {title}…" if running else title}

"""Tries an opportunity that a live view shows, and shows there what became of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.analysis.opportunities.rules import opportunities
from workbench.analysis.opportunities.tried import Tried
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.views.widgets.report_view import View

_SHORTEST = 0.2  # seconds between two updates of the view


class Trial:
    """Starts what the front end asks for and follows it; one at a time.

    `start` takes an opportunity and returns the job that tries it.
    """

    def __init__(self, start: Callable[[Any], Any]):
        self._start = start
        self._job: Any = None
        self._thread: threading.Thread | None = None

    def __call__(self, view: View, id: str) -> None:
        """Start; raises `UsageError` for an id that is not there, and while something runs."""
        if view.progress["status"] == "running":
            raise UsageError("Something is being compiled already: wait for it, or cancel it.")
        found = next((each for each in opportunities(view.shown) if each.id == id), None)
        if found is None:
            raise UsageError(f"There is no opportunity {id!r} in this report.")
        self._job = self._start(found)
        view.follow(self._state())
        self._thread = threading.Thread(target=self._until_end, args=(view, found.key), daemon=True)
        self._thread.start()

    def cancel(self) -> bool:
        """End what runs; False when nothing does."""
        return self._job is not None and bool(self._job.cancel())

    def join(self, timeout: float | None = None) -> None:
        """Wait until the view shows the end."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _until_end(self, view: View, key: str) -> None:
        while not self._job.wait(_SHORTEST):
            view.follow(self._state())
        if self._job.progress["status"] == "done":
            done: Tried = self._job.result()
            view.learn_trial(key, done)
        view.follow(self._state())

    def _state(self) -> Any:
        found = self._job.progress
        return {**found, "title": self._job.name}

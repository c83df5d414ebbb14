"""A sweep as it goes: in a notebook its live view, in a terminal a line for each row."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell

from workbench.analysis.sweep.sweep import Sweep
from workbench.notebook.progress import is_interactive
from workbench.notebook.subshell import in_subshell
from workbench.number_text import number_text
from workbench.report.trials import Trial
from workbench.views.widgets.display import publish_live, take_back
from workbench.views.words.units import seconds_text

if TYPE_CHECKING:
    from workbench.views.sweep.document import Live
    from workbench.views.sweep.view import SweepView

_EVERY_S = 0.4
_LONGEST_S = 2.0  # without a word though nothing has ended


class Following:
    """What `api.sweep` is given as `progress`; silent when nobody is watching.

    `variable` is what the result is called in the notebook. Without `is_viewed` a notebook gets
    lines of text too.
    """

    def __init__(self, shell: InteractiveShell, variable: str = "_", *, is_viewed: bool = True):
        self.view: SweepView | None = None
        self._shell = shell
        self._variable = variable
        self._is_shown = is_interactive(shell)
        self._is_viewed = is_viewed and getattr(shell, "kernel", None) is not None
        self._count = 0
        self._running: Any = None
        self._told: Any = None
        self._at = 0.0
        self._done = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def started(self, running: Any) -> None:
        """Trials begin: `running` says how far they are, and can be cancelled."""
        self._running = running
        if not (self._is_shown and self._is_viewed):
            return
        from workbench.views.sweep.view import SweepView, running_cell

        def made() -> SweepView:
            return SweepView(running.so_far(), self._live(), cancel=running.cancel)

        self.view = in_subshell(self._shell, made)
        self.view.cell = running_cell(self._shell)
        publish_live(self._shell, self.view)
        self._ticker.start()

    def __call__(self, row: Trial, from_store: bool) -> None:
        """One row has ended, or was known."""
        self._count += 1
        if self._is_shown and not self._is_viewed and not from_store:
            print(f"{self._count}: {row.title}: {ended(row)}", flush=True)

    def end(self, found: Sweep) -> Sweep:
        """Show the whole sweep in place; what it is displayed with then is this view."""
        self._stop()
        if self.view is None:
            return found
        self.view.follow(found)
        return replace(found, view=self.view)

    def close(self) -> None:
        """Take the view away: the sweep came to nothing."""
        self._stop()
        if self.view is not None:
            take_back(self._shell, self.view)

    def _stop(self) -> None:
        self._done.set()
        if self._ticker.is_alive():
            self._ticker.join()

    def _tick(self) -> None:
        while not self._done.wait(_EVERY_S):
            now = time.monotonic()
            state = (len(self._running.rows), self._running.tried)
            if state != self._told or now - self._at > _LONGEST_S:
                self._told, self._at = state, now
                in_subshell(self._shell, self._tell)

    def _tell(self) -> None:
        if self.view is not None:
            self.view.follow(self._running.so_far(), self._live())

    def _live(self) -> Live:
        from workbench.views.sweep.document import Live

        running = self._running
        return Live(
            planned=running.planned,
            tried=running.tried,
            known=running.from_store,
            variable=self._variable,
        )


def ended(row: Trial) -> str:
    """How a row ended, in few words."""
    if row.status != "done":
        return f"{row.status}: {row.reason}" if row.reason else row.status
    if row.speedup:
        time = seconds_text((row.call_us or 0.0) / 1e6)
        return f"{number_text(row.speedup, 'ratio')} ({time} a call)"
    if row.call_us is not None:
        return f"{seconds_text(row.call_us / 1e6)} a call by a model"
    return f"compiled in {seconds_text(row.compile_s)}"

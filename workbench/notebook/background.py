"""A compilation in the background in a notebook: its view follows the job and can cancel it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell

from workbench.errors import WorkbenchError
from workbench.notebook.progress import is_interactive, titled
from workbench.views.document import Setting
from workbench.views.widgets.display import live_output, publish, show
from workbench.views.wire.document import Progress

if TYPE_CHECKING:
    from workbench.views.widgets.report_view import View

_SHORTEST = 0.2  # seconds between two updates of the view


class JobView:
    """Follows a job until it ends, then shows its report in place."""

    def __init__(self, job: Any, view: View, setting: Setting, call: str):
        self._job = job
        self._view = view
        self._setting = setting
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
            self._view.follow(state(self._job, self._call))
            self._job.wait(_SHORTEST)
        self._present()
        self._view.follow(state(self._job, self._call))

    def _present(self) -> None:
        try:
            found = self._job.result()
        except WorkbenchError as error:
            found = error.report
        if found is not None:
            show(found, self._setting, view=self._view)

    def join(self, timeout: float | None = None) -> None:
        """Wait until the view shows the end."""
        self._thread.join(timeout)


def state(job: Any, call: str) -> Progress:
    """What a job is doing, under the name of the call."""
    found: Progress = job.progress
    return {**found, "title": titled(found["status"], call)}


def show_job(shell: InteractiveShell, job: Any, name: str, call: str) -> JobView | None:
    """Publish the live view of a job; None where nobody is watching a notebook."""
    if getattr(shell, "kernel", None) is None or not is_interactive(shell):
        return None
    from workbench.views.widgets.report_view import View

    view = View(cancel=job.cancel)
    view.follow(state(job, call))
    publish(shell, live_output(view))
    return JobView(job, view, Setting(f"{name}.result()"), call)

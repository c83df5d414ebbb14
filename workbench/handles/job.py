"""A compilation in the background: what it is doing, its result, how to end it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from workbench.processes.background_task import BackgroundTask, Steps

Made = TypeVar("Made")
START = "starting a worker"


class Job(BackgroundTask[Made]):
    """A running or ended compilation; `await` it, or ask for its `result`.

    `on_change`, when set, is called without arguments, from another thread, whenever `progress`
    has changed. Its worker ends with this process, and with `cancel`, together with its compilers.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[Steps], Made],
        stop: Callable[[], object],
        on_change: Callable[[], object] | None = None,
    ):
        self._end_worker = stop
        super().__init__(name, work, stop, on_change)

    def cancel(self) -> bool:
        """End the worker and its compilers at once; False when it had ended before."""
        if not super().cancel():
            return False
        self._end_worker()  # its own, also before it has said anything
        self.wait()
        return True

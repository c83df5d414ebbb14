"""Tries memory budgets where a live view shows a training step; its record has what comes of it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from workbench.analysis.memory.budgets import BudgetPoint
from workbench.errors import UsageError
from workbench.handles.memory.checkpoint import Checkpoint, in_background, why_no_budgets
from workbench.processes.background_task import BackgroundTask, Steps
from workbench.processes.messages import ProgressCallback

if TYPE_CHECKING:
    from workbench.handles.other_targets import OtherTargets


class LiveBudgets:
    """The budgets of one step, looked at when they are first asked for.

    `why_not` says why none can be tried from here, or is None.
    """

    def __init__(self, compiled: OtherTargets):
        self._compiled = compiled
        self._found: Checkpoint | None = None
        self._lock = threading.Lock()
        self.why_not = why_no_budgets(compiled)

    def checkpoint(self, progress: ProgressCallback | None = None) -> Checkpoint:
        """The same for all who ask; raises `UsageError` where there is none."""
        with self._lock:
            if self._found is None:
                self._found = Checkpoint(self._compiled, progress)
            return self._found

    def start(self, budget: float | None) -> BackgroundTask[BudgetPoint]:
        """Look at all budgets in a thread, or compile one of them."""
        if self.why_not is not None:
            raise UsageError(self.why_not)
        name = self._compiled.report.request.name

        def work(steps: Steps) -> BudgetPoint:
            found = self.checkpoint(steps)
            return found.at(found.own if budget is None else budget, steps)

        what = "budgets" if budget is None else f"budget {budget:g}"
        return in_background(self._compiled, f"{name}, {what}", work)

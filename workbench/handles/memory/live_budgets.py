"""Tries memory budgets where a live view shows a training step; its record has what comes of it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from workbench.analysis.memory.budgets import BudgetPoint
from workbench.compiler.contract.request import one_of
from workbench.errors import UsageError
from workbench.handles.memory.checkpoint import (
    ESTIMATORS,
    Checkpoint,
    Estimator,
    in_background,
    why_no_budgets,
)
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
        self._found: dict[Estimator, Checkpoint] = {}
        self._estimator: Estimator = "flops"  # of what the record has
        self._lock = threading.Lock()
        self.why_not = why_no_budgets(compiled)

    def checkpoint(
        self, progress: ProgressCallback | None = None, estimator: Estimator = "flops"
    ) -> Checkpoint:
        """The same for all who ask; raises `UsageError` where there is none."""
        one_of("estimator", estimator, ESTIMATORS)
        with self._lock:
            if estimator not in self._found:
                self._found[estimator] = Checkpoint(self._compiled, progress, estimator)
            elif estimator != self._estimator:
                self._found[estimator].keep()
            self._estimator = estimator
            return self._found[estimator]

    def start(self, budget: float | None) -> BackgroundTask[BudgetPoint]:
        """Look at all budgets in a thread, or compile one of them."""
        if self.why_not is not None:
            raise UsageError(self.why_not)
        name = self._compiled.report.request.name

        def work(steps: Steps) -> BudgetPoint:
            found = self.checkpoint(steps, self._estimator)
            return found.at(found.own if budget is None else budget, steps)

        what = "budgets" if budget is None else f"budget {budget:g}"
        return in_background(self._compiled, f"{name}, {what}", work)

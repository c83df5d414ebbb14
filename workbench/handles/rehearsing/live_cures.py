"""The cures of a live call's graph breaks, each tried when a view asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from workbench.analysis.breaks.cures import find_cures
from workbench.analysis.opportunities.opportunity import Opportunity, Tried
from workbench.analysis.opportunities.rehearsed_cures import RehearsedCure
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.pipeline.explain import Explanation, explain
from workbench.compiler.request.compile_request import CompileRequest
from workbench.errors import UsageError
from workbench.handles.base.compiled_base import Recipe
from workbench.handles.opportunities.opportunity_trial import try_opportunity
from workbench.handles.rehearsing.rehearse import BrokenCall
from workbench.handles.repeating.cell_thread import run_after_cells
from workbench.handles.repeating.outcomes import Inputs
from workbench.number_text import plural
from workbench.report import Report
from workbench.tasks.background_task import BackgroundTask, Steps
from workbench.tasks.live_action import LiveAction

_KEPT_BYTES = 16 << 20


class LiveCures:
    """Try fixes for the graph breaks in a call's report, and keep small inputs alive for that."""

    def __init__(self, recipe: Recipe):
        self._recipe = recipe
        args, kwargs = recipe.inputs()
        inputs = (leaf for _, leaf in leaves((args, kwargs), Path("call")))
        tensors = [leaf for leaf in inputs if isinstance(leaf, torch.Tensor)]
        size = sum(tensor.nbytes for tensor in tensors if tensor.layout is torch.strided)
        self._kept = tensors if size <= _KEPT_BYTES else []

    def actions(self, explanation: Explanation | None = None) -> tuple[LiveAction, ...]:
        """Return a view's actions: try a fix and, for an explanation, try a break's rewrite."""
        cure = LiveAction("cure", self.start)
        if explanation is None:
            return (cure,)
        return cure, LiveAction("try", partial(self.try_rewrite, explanation))

    def start(self, report: Report, break_id: str, number: int) -> BackgroundTask[RehearsedCure]:
        """Try one fix of a break in the background, by its index in the results of `find_cures`.

        Raises `UsageError` if the fix is unknown or the inputs no longer exist.
        """
        item = next((row for row in report.breaks if row.id == break_id), None)
        cures = () if item is None else tuple(find_cures(report, item))
        if item is None or not 0 <= number < len(cures):
            raise UsageError(f"Break {break_id!r} in this report has no fix {number}.")
        self._refuse_gone()

        def work(steps: Steps) -> RehearsedCure:
            def rehearse(args: tuple[Any, ...], kwargs: dict[str, Any]) -> RehearsedCure:
                call = BrokenCall(self._recipe.target, Inputs(args, kwargs))
                steps("explaining the call", 0.0)
                breaks = plural(len(call.explained.breaks), "break")
                steps(f"trying fixes on a copy of the call ({breaks})", 0.0)
                return call.rehearsed(f"c{number}", item, cures[number])

            return self._recipe.called(rehearse)

        return _task(f"a fix for line {item.line}", work)

    def try_rewrite(self, explanation: Explanation, change: Opportunity) -> BackgroundTask[Tried]:
        """Try the rewrite of a break in the background, with the same errors as `start`."""
        self._refuse_gone()
        name = f"{change.rule} in line {change.line}"
        return _task(name, lambda steps: try_opportunity(explanation, change, steps))

    def _refuse_gone(self) -> None:
        """Raise `UsageError` for inputs that nobody holds: others could take another branch."""
        gone = self._recipe.gone()
        if gone:
            raise UsageError(
                f"The call cannot run again, because {', '.join(gone)} is gone. Keep it in a "
                "variable, pass that, and run the cell again."
            )


def explain_call(fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Recipe:
    """Return the call of an explanation as a recipe, to explain it again with a change."""

    def again(request: CompileRequest, _: Any) -> Any:
        return explain(request.target, request.args, request.kwargs)

    def never(*_: Any) -> Any:
        raise UsageError("An explanation always runs in this process: call explain.")

    return Recipe(CompileRequest(fn, args, kwargs), again, never)


@dataclass(frozen=True)
class BrokenCompilation:
    """The report and live actions of a compilation that failed at a graph break."""

    report: Report
    live_actions: tuple[LiveAction, ...]

    @classmethod
    def of(cls, report: Report, fn: Any, args: Any, kwargs: Mapping[str, Any]) -> BrokenCompilation:
        """Return the report of this call."""
        return cls(report, LiveCures(explain_call(fn, tuple(args), kwargs)).actions())


def _task(name: str, work: Any) -> BackgroundTask[Any]:
    return BackgroundTask(name, work, lambda thread: None, run_after_cells)

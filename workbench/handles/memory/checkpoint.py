"""What other activation memory budgets would bring a training step, and compiling one of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import torch

from workbench.analysis.budgets.budget_code import Snippet, snippets, write_step_code
from workbench.analysis.budgets.budgets import BudgetPoint, Budgets, Check, list_points
from workbench.analysis.memory.memory import memory
from workbench.arguments import checked
from workbench.compiler.comparison.output_comparison import Comparison, find_largest_error
from workbench.compiler.comparison.trial import DRAWN, Effects
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.request.compile_request import (
    CompileRequest,
    list_known_gpus,
    require_one_of,
)
from workbench.device_kinds import TARGETS
from workbench.errors import UsageError, WorkbenchError
from workbench.handles.base.compared_call import try_call
from workbench.handles.running.progress_line import follow_in_a_line
from workbench.live_only import LivePart
from workbench.number_text import join_words, number_text
from workbench.report import Report, Table
from workbench.report.collectives.shard_groups import SHARDS
from workbench.report.memory_rows import MemoryBudget, RecomputedNode
from workbench.tasks.background_task import BackgroundTask, Steps
from workbench.tasks.progress_events import ProgressCallback

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from workbench.handles.base.compiled_base import CompiledBase

BUDGETS = tuple(n / 10 for n in range(10, -1, -1))
_GONE = (
    "The function is not in this process. Budgets can be tried only for a result of aot_compile, "
    "not for a report or a file."
)
_NO_BACKWARD = (
    "{} was compiled without a backward pass, so it saves no activations. Compile a training step "
    "with grad=True."
)
_SHARDED = (
    "{} was sharded by fully_shard. torch applies a budget to each block's graph, but this program "
    "contains all blocks. Compile one block separately and try budgets there."
)
_OPTION = "activation_memory_budget"
ESTIMATORS = ("flops", "roofline")
_ESTIMATOR = "activation_memory_budget_runtime_estimator"
_NO_ROOFLINE = (
    "{} was compiled for {}, and a CPU has no roofline. Compile for a GPU, such as target='h100', "
    "or omit estimator='roofline'."
)
Estimator = Literal["flops", "roofline"]
"""By which times torch chooses what is kept: its own count of operations, or the GPU's roofline."""


class Checkpoint:
    """Compare the activation memory budgets of a training step.

    The step is compiled once more, to count each budget's savings and recomputation in its joint
    graph. The peak is known only for compiled budgets (`at`). A lower budget may have a higher
    peak, because recomputed values are also live. A budget whose backward pass would redraw random
    numbers is refused. A compiled budget is offered only if its gradients are correct.

    `compiled` maps budgets to compiled programs. The report of the step and the views that show it
    have all known figures.
    """

    def __init__(
        self,
        compiled: CompiledBase,
        progress: ProgressCallback | None = None,
        estimator: Estimator = "flops",
    ):
        recipe = compiled.recipe
        why_not = explain_no_budgets(compiled)
        if why_not is not None or recipe is None:
            raise UsageError(why_not or _GONE)
        self.name = compiled.report.request.name
        self._holder = compiled
        self._recipe = recipe
        target = compiled.report.request.target
        self._gpu = None if target in TARGETS else list_known_gpus()[target]
        self.estimator = _estimator(estimator)
        if estimator == "roofline" and self._gpu is None:
            raise UsageError(_NO_ROOFLINE.format(self.name, target))
        own = float(recipe.option_then("functorch", _OPTION, 1.0))
        budgets = sorted({own, *BUDGETS}, reverse=True)
        self.report: Report = self._compiled(own, budgets, progress).report
        _check_previews(self.report)
        self._peaks: dict[float, int] = {}
        self._checks: dict[float, Check] = {}
        self._more: dict[float, Report] = {}  # budgets between those of BUDGETS
        self.compiled: dict[float, Any] = {}
        self.own = own
        self._lock = threading.Lock()
        if estimator == "flops" or own == 1:  # a budget of 1 asks for no times
            self._peaks[own] = memory(compiled.report).peak
            self.compiled[own] = compiled
            self.keep()
        else:
            self._compile(own, progress)

    @property
    def _by(self) -> str | None:
        """The GPU whose roofline chooses what is kept; None for torch's own choice."""
        return None if self.estimator == "flops" or self._gpu is None else self._gpu.name

    @property
    def budgets(self) -> Budgets:
        """The figures of all budgets known so far."""
        reports = (self.report, *self._more.values())
        points = (
            point for r in reports for point in list_points(r, self._gpu, self._peaks, self._checks)
        )
        again = tuple(row for r in reports for row in r.recomputed)
        ordered = tuple(sorted(points, key=lambda point: -point.budget))
        return Budgets(self.name, self.own, ordered, again, self._by)

    @checked
    def at(self, budget: float, progress: ProgressCallback | None = None) -> BudgetPoint:
        """Compile with a budget, check the gradients against eager, and read the peak memory.

        Raises `UsageError` if the budget is not a number from 0 to 1 or the gradients are wrong.
        Compilation errors propagate.
        """
        is_number = isinstance(budget, int | float) and not isinstance(budget, bool)
        if not is_number or not 0 <= budget <= 1:
            raise UsageError(f"The budget is {budget!r}: pass a number from 0 to 1, such as 0.5.")
        with self._lock:  # who asks for the same meanwhile gets what the first one made
            is_known = any(point.budget == budget for point in self.budgets.points)
            if budget != self.own and is_known:
                self._refuse(budget)
            if budget not in self._peaks:
                with follow_in_a_line(
                    progress, f"Compiling with a memory budget of {budget:g}"
                ) as callback:
                    self._compile(budget, callback)
            if budget != self.own:
                self._refuse(budget)
        return self.budgets.at(float(budget))

    def _refuse(self, budget: float) -> None:
        """Raise `UsageError` for a budget that must not be used, with the next that may."""
        budgets = self.budgets
        why = budgets.at(budget).why_not
        if not why:
            return
        others = [p.budget for p in budgets.points if not p.why_not and budget < p.budget < 1]
        cure = (
            f"Use {min(others):g} or more."
            if others
            else "Keep a budget of 1, or draw the random numbers outside the step and pass them in."
        )
        raise UsageError(f"{self.name} cannot have a budget of {budget:g}. {why} {cure}")

    def start(self, budget: float) -> BackgroundTask[BudgetPoint]:
        """Run `at` in a background thread."""

        def work(steps: Steps) -> BudgetPoint:
            return self.at(budget, steps)

        return in_background(self._holder, f"{self.name} with a budget of {budget:g}", work)

    @checked
    def code(self, budget: float) -> str:
        """Return code that sets this budget in torch.compile and in `aot_compile`."""
        return write_step_code(budget, self._by)

    @checked
    def snippets(self, budget: float) -> tuple[Snippet, ...]:
        """Return code snippets for the step, a region and, if the model has any, its layers.

        Raises `UsageError` for a budget that was not analysed.
        """
        return snippets(self._holder.report, self.budgets, float(budget))

    @property
    def sentence(self) -> str:
        """The lowest known peak and its cost, relative to the step's current budget."""
        return self.budgets.sentence

    def best(self) -> BudgetPoint:
        """Return the compiled budget with the lowest peak; a tie goes to the largest budget."""
        return self.budgets.best

    @checked
    def frame(self, name: str = "budgets") -> pandas.DataFrame:
        """Return the table `"budgets"`, or `"recomputed"` with a row per operator and budget."""
        return self.budgets.frame(name)

    def plot(self) -> Figure:
        """Plot the known peaks and the saved bytes against the budget."""
        return self.budgets.plot()

    def __repr__(self) -> str:
        """Show a row for each budget, and the sentence."""
        return repr(self.budgets)

    def _compile(self, budget: float, progress: ProgressCallback | None) -> None:
        is_known = any(point.budget == budget for point in self.budgets.points)
        compiled = self._compiled(budget, () if is_known else (budget,), progress)
        if not is_known:  # another thread may read what there is meanwhile: it is never changed
            self._more = {**self._more, budget: compiled.report}
        self._check(budget, compiled)
        if not self.budgets.at(budget).why_not or budget == self.own:
            self.compiled[budget] = compiled
            self._peaks = {**self._peaks, budget: memory(compiled.report).peak}
        self.keep()

    def _check(self, budget: float, compiled: Any) -> None:
        """Compare the gradients of a program with those of the original."""
        if self.budgets.at(budget).why_not:
            return

        def compare(args: tuple[Any, ...], kwargs: dict[str, Any]) -> GradientCheck:
            is_sound = not self.budgets.at(self.own).why_not
            return check_gradients(self._holder, compiled, args, kwargs, is_sound=is_sound)

        verdict = self._recipe.called(compare, has_numbers=True)
        check = Check(verdict.text, "") if verdict.ok is False else Check("", verdict.text)
        self._checks = {**self._checks, budget: check}

    def keep(self) -> None:
        """Write all known figures to the step's report."""
        points = {point.budget: point for point in self.budgets.points}
        reports = (self.report, *self._more.values())
        rows = [
            replace(
                row,
                peak_bytes=self._peaks.get(row.budget),
                checked=points[row.budget].checked,
                why_not=points[row.budget].why_not,
                is_own=row.budget == self.own,
                estimator=self.estimator,
            )
            for report in reports
            for row in report.memory_budgets
        ]
        again = [row for report in reports for row in report.recomputed]
        report = self._holder.report
        tables = {
            **report.tables,
            "memory_budgets": Table.of(MemoryBudget, sorted(rows, key=lambda row: -row.budget)),
            "recomputed": Table.of(RecomputedNode, again),
        }
        self._holder.update(replace(report, tables=tables))

    def _compiled(
        self, budget: float, previews: Sequence[float], progress: ProgressCallback | None
    ) -> Any:
        config = tp.FUNCTORCH_CONFIG.get()
        values: dict[str, Any] = {_OPTION: budget}
        if self._by is not None:
            from workbench.compiler.recording.runtime_estimators import RooflineEstimator

            values[_ESTIMATOR] = RooflineEstimator(self._by)

        def change(call: CompileRequest) -> CompileRequest:
            for name, value in values.items():  # over what the recipe sets; undone by the patch
                setattr(config, name, value)
            options = replace(call.options, capture="full", budgets=tuple(previews))
            return replace(call, options=options)

        with config.patch({name: getattr(config, name) for name in values}):
            compiled, _, _ = self._recipe.compile_changed(change, progress)
        return compiled


def _estimator(name: Any) -> Estimator:
    if name not in ESTIMATORS:
        raise UsageError(f"The estimator is {name!r}: pass 'flops' or 'roofline'.")
    return "flops" if name == "flops" else "roofline"


def explain_no_budgets(compiled: CompiledBase) -> str | None:
    """Return the reason why no budget can be tried, as a sentence, or None if one can."""
    if compiled.recipe is None:
        return _GONE
    if not any(wrapper.is_backward for wrapper in compiled.report.wrappers):
        return _NO_BACKWARD.format(compiled.report.request.name)
    if SHARDS in compiled.report.extra:
        return _SHARDED.format(compiled.report.request.name)
    return None


def in_background(
    compiled: CompiledBase, name: str, work: Callable[[Steps], BudgetPoint]
) -> BackgroundTask[BudgetPoint]:
    """Compile in a background thread; a cancelled job stops at the next progress report."""

    def stop(thread: threading.Thread) -> None:
        if compiled.report.request.target not in TARGETS:
            from workbench.compiler.virtual_gpu.client import keep_warm_worker

            keep_warm_worker().kill_for(thread)

    return BackgroundTask(name, work, stop)


def _check_previews(report: Report) -> None:
    if len(report.memory_budgets):
        return
    reasons = [row.reason for row in report.capabilities if row.name == "memory_budgets"]
    why = next((reason for reason in reasons if reason), "torch partitioned no joint graph")
    raise UsageError(f"Budgets cannot be analysed: {why}.")


class LiveBudgets(LivePart):
    """Compute the memory budgets of a training step on first use.

    `why_not` is the reason why no budget can be tried here, or None.
    """

    def __init__(self, compiled: CompiledBase):
        self._compiled = compiled
        self._found: dict[Estimator, Checkpoint] = {}
        self._estimator: Estimator = "flops"  # of what the record has
        self._lock = threading.Lock()
        self.why_not = explain_no_budgets(compiled)

    def checkpoint(
        self, progress: ProgressCallback | None = None, estimator: Estimator = "flops"
    ) -> Checkpoint:
        """Return the shared `Checkpoint`, or raise `UsageError` if there is none."""
        require_one_of("estimator", estimator, ESTIMATORS)
        with self._lock:
            if estimator not in self._found:
                self._found[estimator] = Checkpoint(self._compiled, progress, estimator)
            elif estimator != self._estimator:
                self._found[estimator].keep()
            self._estimator = estimator
            return self._found[estimator]

    def start(self, budget: float | None) -> BackgroundTask[BudgetPoint]:
        """Analyse all budgets, or compile one of them, in a background thread."""
        if self.why_not is not None:
            raise UsageError(self.why_not)
        name = self._compiled.report.request.name

        def work(steps: Steps) -> BudgetPoint:
            checkpoint = self.checkpoint(steps, self._estimator)
            return checkpoint.at(checkpoint.own if budget is None else budget, steps)

        what = "budgets" if budget is None else f"budget {budget:g}"
        return in_background(self._compiled, f"{name}, {what}", work)


_NOT_HERE = "Gradients were not compared: this machine does not have the GPU."
_MADE_UP = " The example inputs are gone; numbers between 0 and 1 were used for {}."
_NOTHING = "Gradients were not compared: all of them are zero for these inputs."
_FAILED = "Gradients were not compared: eager failed ({})."
_NO_REFERENCE = (
    "Gradients were not compared: eager draws different random numbers, and the unchanged "
    "program (the other reference) has wrong gradients."
)
_BY_CHANCE = "eager draws different random numbers"


@dataclass(frozen=True)
class GradientCheck:
    """The result of a gradient check. `ok` is None if nothing was compared."""

    ok: bool | None
    text: str


def check_gradients(
    own: Any,
    made: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    is_sound: bool = True,
) -> GradientCheck:
    """Compare every effect of `made` with the eager function of `own`, as `verify` does.

    If the outputs are random and eager draws different numbers, compare the gradients with those of
    `own`. This requires `is_sound`: the backward pass of `own` must not redraw random numbers.
    """
    if own.target not in TARGETS:
        return GradientCheck(None, _NOT_HERE)
    gone = own.recipe.gone()
    made_up = _MADE_UP.format(", ".join(gone)) if gone else ""
    inputs = args, dict(kwargs)
    with torch.enable_grad():
        both = try_call(own.original, own, inputs, made=made)
        try:
            expected = both.run_original()
        except RuntimeError as error:
            return GradientCheck(None, _FAILED.format(str(error).split("\n")[0]))
        if not any(bool(gradient.any()) for gradient in _gradients(expected)):
            return GradientCheck(None, _NOTHING)
        try:
            rows, who = both.judge(), own.report.request.name
            if drawn := {row.leaf for row in rows if row.reason == DRAWN}:
                if not is_sound:
                    return GradientCheck(None, _NO_REFERENCE)
                alike = try_call(own, own, inputs, made=made).judge()
                rows = [row for row in rows if row.leaf not in drawn]
                rows += [row for row in alike if row.leaf in drawn]
                who = f"the program with its original budget ({_BY_CHANCE})"
        except (RuntimeError, WorkbenchError) as error:
            return GradientCheck(False, f"It failed when called: {str(error).splitlines()[0]}")
    verdict = _verdict(rows, len(_gradients(expected)), who)
    return replace(verdict, text=f"{verdict.text}{made_up}")


def _gradients(effects: Effects) -> list[torch.Tensor]:
    return [gradient for gradient in (effects.gradients or {}).values() if gradient is not None]


def _verdict(rows: Sequence[Comparison], count: int, who: str) -> GradientCheck:
    if wrong := [row for row in rows if row.verdict == "failed"]:
        row = wrong[0]
        how = row.reason or f"by up to {number_text(row.max_abs_error, 'difference')}"
        return GradientCheck(
            False,
            f"{row.leaf} differs from {who} ({how}), so do not use this budget.",
        )
    if lost := [row for row in rows if row.verdict == "not checked"]:
        names = join_words([row.leaf for row in lost])
        return GradientCheck(None, f"Not compared with {who}: {names} ({lost[0].reason}).")
    error = find_largest_error(rows) or 0.0
    return GradientCheck(
        True,
        f"Its outputs and the gradients of {count} tensor{'s' if count != 1 else ''} match those "
        f"of {who}, within {error:.2g}.",
    )

"""What every compilation offers about code for other GPUs: its call again, kernels otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.live_only import CompiledCode
from workbench.number_text import plural
from workbench.report.report_holder import ReportHolder

if TYPE_CHECKING:
    from workbench.analysis.gpu_model.ranked_configs import RankedConfigs
    from workbench.analysis.memory.memory import Memory
    from workbench.analysis.opportunities.opportunity import Opportunity
    from workbench.analysis.opportunities.tried import Tried
    from workbench.handles.compiled import Compiled
    from workbench.handles.cross_compiled import CrossCompiled
    from workbench.handles.memory.checkpoint import Checkpoint, Estimator
    from workbench.handles.memory.live_budgets import LiveBudgets
    from workbench.handles.recipe import Recipe, Retarget
    from workbench.processes.background_task import BackgroundTask
    from workbench.processes.live_action import LiveAction
    from workbench.processes.messages import ProgressCallback
    from workbench.report import Report

_NO_INPUTS = (
    "It was loaded from a file, which holds no inputs to measure it on: call "
    "`compiled.profile(*args)`."
)


@dataclass(frozen=True)
class LateReport:
    """A report that is read when somebody looks; only its name is known before."""

    name: str
    read: Callable[[], Report]


class OtherTargets(CompiledCode, ReportHolder):
    """Base of what `aot_compile` returns; `recipe` is None for what came from a file."""

    _report: Report | LateReport
    recipe: Recipe | None

    @property
    def report(self) -> Report:
        """The record of the compilation; that of a file is read at the first look."""
        if isinstance(self._report, LateReport):
            self._report = self._report.read()
        return self._report

    def __repr__(self) -> str:
        """A short stable summary: no times, no addresses."""
        request = self.report.request
        inputs = ", ".join(request.inputs)
        if request.conditions:
            inputs = f"{inputs}; only where {request.together}"
        kernels = plural(len(self.report.kernels), "kernel")
        return f"Compiled({self.name}({inputs}), {self.target}, {kernels})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Its summary, where it is the value of a cell."""
        from workbench.views.widgets.displayed import summary_bundle

        return summary_bundle(self)

    @property
    def name(self) -> str:
        """The name of the function or module."""
        return (
            self._report.name if isinstance(self._report, LateReport) else self.report.request.name
        )

    @property
    def target(self) -> str:
        """What it was compiled for: "host", "cpu", "cuda" or a virtual GPU."""
        return self.report.request.target

    @checked
    def update(self, report: Report) -> None:
        """From now on this is the report, for instance with what became of it in a file."""
        before, self._report = self.report, report
        self._notify(before, report)

    @cached_property
    def retarget(self) -> Retarget:
        """Other targets to compile the same call for."""
        from workbench.handles.recipe import Retarget

        return Retarget(self, self.recipe)

    @property
    def why_no_profile(self) -> str | None:
        """Why its kernels cannot be measured from a view, in a sentence; None where they can."""
        if self.recipe is None:
            return _NO_INPUTS
        if not len(self.report.kernels):
            return f"The backend {self.report.request.backend} generated no kernels to measure."
        return None

    @property
    def live_actions(self) -> tuple[LiveAction, ...]:
        """What a live view can start while this is alive, each with the reason where it cannot."""
        from workbench.handles.profile import start_profile
        from workbench.processes.live_action import LiveAction

        again, budgets = self.retarget, self.live_budgets
        return (
            LiveAction("retarget", again.start, again.why_not, again.names),
            LiveAction("compare-targets", again.compare, again.why_not, again.names),
            LiveAction("try", self.try_in_background, again.why_not),
            LiveAction("budgets", lambda: budgets.start(None), budgets.why_not),
            LiveAction("budget", budgets.start, budgets.why_not),
            LiveAction("profile", lambda: start_profile(self), self.why_no_profile),
        )

    @checked
    def try_in_background(self, change: Opportunity) -> BackgroundTask[Tried]:
        """Start trying an opportunity of this compilation; raises `UsageError` where it cannot."""
        from workbench.handles.trying import try_in_background

        return try_in_background(self, change)

    @checked
    def with_fusion(
        self, *, forbid: Sequence[tuple[str, str]] = (), force: Sequence[tuple[str, str]] = ()
    ) -> Compiled | CrossCompiled:
        """The same call compiled with pairs kept apart, or fused against Inductor's heuristics.

        A pair names kernels ("k0"), scheduler nodes ("op1") or FX nodes ("relu"), as in
        `report.frame("not_fused")`. `workbench.diff` then says what that changes. Raises
        `UsageError` for a name that is not in the report, and with the reason for a pair that
        cannot be fused.
        """
        from workbench.handles.chosen_fusion import with_fusion

        made: Compiled | CrossCompiled = with_fusion(self, forbid, force)
        return made

    @checked
    def on(self, target: str) -> Compiled | CrossCompiled:
        """The same call compiled for another target, such as "h100"; compiled once, then kept."""
        found: Compiled | CrossCompiled = self.retarget.on(target)
        return found

    @checked
    def memory(
        self, *, eager: bool | None = None, progress: ProgressCallback | None = None
    ) -> Memory:
        """What the call holds in memory at each step, what its peak is made of; nothing is run.

        `.measure(*args)` of the result compares with what a call allocates, for what runs on this
        CPU. With `eager=True` the peak of the call without a compiler is counted beside it, once,
        on tensors without data; it stays in the record. By default that is done for a GPU that is
        not here: a copy of the call runs there, in a fraction of a second. On the host Dynamo
        captures the call once more, whose graph lets go of values earlier than Python does;
        `.measure` has the true figure. Raises `UsageError` for a compilation without a generated
        program.
        """
        from workbench.analysis.memory.memory import memory
        from workbench.analysis.memory.timeline import why_unknown
        from workbench.compiler.contract.request import TARGETS
        from workbench.handles.memory.eager import count_eager

        is_wanted = self.target not in TARGETS if eager is None else eager
        if is_wanted and why_unknown(self.report) is None:
            count_eager(self, progress)
        return memory(self.report)

    @checked
    def checkpoint(
        self, progress: ProgressCallback | None = None, *, estimator: Estimator = "flops"
    ) -> Checkpoint:
        """What other activation memory budgets of a training step would save and compute again.

        The step is compiled once more, for its joint graph; `.at(0.5)` of the result compiles a
        budget and reads its peak, `.best()` is the lowest peak of those. It is the same when it is
        asked for again. `estimator` says by which times torch chooses what is kept: "flops" is
        torch's own, "roofline" counts memory, too, on the GPU that was compiled for. Raises
        `UsageError` for what has no backward or was loaded from a file, and for the roofline of a
        CPU.
        """
        return self.live_budgets.checkpoint(progress, estimator)

    @cached_property
    def live_budgets(self) -> LiveBudgets:
        """What tries memory budgets where a live view shows this."""
        from workbench.handles.memory.live_budgets import LiveBudgets

        return LiveBudgets(self)

    @checked
    def rank_configs(
        self,
        kernel: str,
        *,
        blocks: Mapping[str, Iterable[int]] | None = None,
        warps: Iterable[int] | None = None,
        stages: Iterable[int] | None = None,
        progress: ProgressCallback | None = None,
    ) -> RankedConfigs:
        """Compile the configurations of one Triton kernel and rank them by a model; none is run.

        `kernel` is an id or a name. `blocks` are powers of two by parameter, such as
        `{"XBLOCK": (64, 128)}`; what is not given derives from the kernel. Raises `UsageError` for
        a kernel or parameter that does not exist; the message lists those that do.
        """
        from workbench.handles.ranked import gpu_of, rank_configs

        return rank_configs(
            self.report,
            gpu_of(self.report),
            kernel,
            blocks=blocks,
            warps=warps,
            stages=stages,
            progress=progress,
        )

"""What a live view starts while its call is alive: each action once, and how one is followed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from workbench.device_kinds import CPU, GPU
from workbench.errors import UsageError
from workbench.live_only import LivePart
from workbench.report import Report
from workbench.specs import Catalogue
from workbench.tasks.live_action import LiveAction
from workbench.views.kit.job_queue import AskedJob, JobQueue
from workbench.views.wire.advice_messages import CureQuestion, TrialQuestion
from workbench.views.wire.artifact_messages import FileQuestion, MachineQuestion
from workbench.views.wire.gpu_messages import TargetChoice, TargetQuestion, Targets
from workbench.views.wire.memory_messages import BudgetQuestion
from workbench.views.wire.report_messages import Progress, Task
from workbench.worlds.world import gather

if TYPE_CHECKING:
    from workbench.analysis.opportunities.opportunity import Opportunity, Tried
    from workbench.analysis.opportunities.rehearsed_cures import RehearsedCure
    from workbench.artifacts.preflight.check import Check

_NOT_ALIVE = (
    "This view has no live function. Run `wb.show` on the result of `wb.aot_compile` instead, or "
    "type `wb.aot_compile(fn, args, target=NAME)`."
)
_SAVED = (
    "This is a saved view. To compile for another GPU, run the cell again or type "
    "`wb.aot_compile(fn, args, target=NAME)`."
)
ONLY_A_RECORD = (
    "This is a report without its function. Run `wb.show` on the result of `wb.aot_compile` "
    "instead, or type `wb.aot_compile(fn, args, target=NAME)`."
)
_HERE = {
    "host": "this machine",
    CPU: "the CPU of this machine",
    GPU: "the GPU of this machine",
}


class ActionView(Protocol):
    """The view that an action was asked for in, as far as actions know it."""

    @property
    def report(self) -> Report:
        """The report that it shows."""

    def find_opportunity(self, id: str) -> Opportunity:
        """One of the report's; raises `UsageError` for another."""

    def follow(self, progress: Progress) -> None:
        """Show how far the action is; any thread may call it."""

    def learn_trial(self, key: str, tried: Tried) -> None:
        """Show what became of an opportunity."""

    def learn_check(self, found: Check) -> None:
        """Show how the file compares with a machine."""

    def learn_cure(self, key: tuple[str, int], tried: RehearsedCure) -> None:
        """Show what became of a cure."""


@dataclass(frozen=True)
class ShownAction:
    """An action as every view knows it.

    `asleep` says why it cannot be started where nothing alive offers it. `question` is what has to
    be asked with it, None for nothing. `read` makes the arguments of `LiveAction.start` from the
    view and the question, `title` says what it is done with, of the call's name and these. `show`
    shows the result, with `takes_place` in place of the record; where it is None the handle itself
    tells the view that its report has changed.
    """

    asleep: str
    question: type | None
    read: Callable[[ActionView, Any], tuple[Any, ...]]
    task: Task | None = None
    title: Callable[[str, tuple[Any, ...]], str] = lambda name, arguments: name
    show: Callable[[LiveActions, ActionView, tuple[Any, ...], Any], None] | None = None
    takes_place: bool = False


class LiveActions(LivePart):
    """Starts what the front end asks for and follows it; one at a time, the others wait."""

    def __init__(
        self,
        actions: Sequence[LiveAction] = (),
        variable: str = "compiled",
        present: Callable[..., None] = lambda record, line, view: None,
    ):
        """`variable` is how code names what is shown.

        `present` shows a result in a view in place of its report, given the line of Python that
        gives the same.
        """
        self._actions = {action.id: action for action in actions}
        self.variable, self.present = variable, present
        self.jobs = JobQueue()

    def start(self, view: ActionView, id: str, question: Any) -> None:
        """Start it after what was asked for before; raises `UsageError` for what cannot be."""
        shown, action = list_actions()[id], self._actions.get(id)
        if action is None or action.why_not is not None:
            raise UsageError((action and action.why_not) or _NOT_ALIVE)
        arguments = shown.read(view, question)

        def show(result: Any) -> None:
            if shown.show is not None:
                shown.show(self, view, arguments, result)

        self.jobs.add(
            AskedJob(
                id,
                None if shown.question is None else question,
                shown.title(view.report.request.name or "the call", arguments),
                shown.task,
                shown.takes_place,
                start=lambda: action.start(*arguments),
                show=show,
                follow=view.follow,
            )
        )

    def join(self, timeout: float | None = None) -> None:
        """Wait until the view shows the end of all."""
        self.jobs.join(timeout)


def _read_targets(view: ActionView, question: Any) -> tuple[list[str]]:
    if not question["targets"]:
        raise UsageError("Choose a target first.")
    return (question["targets"],)


def _read_target(view: ActionView, question: Any) -> tuple[str]:
    (names,) = _read_targets(view, question)
    if len(names) != 1:
        raise UsageError(f"Choose one target: {len(names)} were given.")
    return (names[0],)


def _show_matrix(
    live: LiveActions, view: ActionView, arguments: tuple[Any, ...], matrix: Any
) -> None:
    (targets,) = arguments
    # code for a CPU has no kernel that a GPU could run: the first GPU's is compared then
    is_on_gpu = any(kernel.language == "triton" for kernel in view.report.kernels)
    compared = live.variable if is_on_gpu else f'{live.variable}.on("{targets[0]}")'
    listed = ", ".join(f'"{name}"' for name in targets)
    live.present(matrix, f"wb.matrix({compared}, targets=[{listed}])", view)


def _write_tuned(target: str) -> str:
    """The line of Python that compiles a call as *Try max-autotune* does."""
    on = "" if target == "host" else f', target="{target}"'
    return f'wb.aot_compile(fn, args, mode="max-autotune"{on})'


_NO_BUDGETS = (
    "This view has no live function to compile with another memory budget. Run `wb.show` on "
    "the result of `wb.aot_compile` instead."
)

_OWN: Mapping[str, ShownAction] = {
    "retarget": ShownAction(
        _NOT_ALIVE,
        TargetQuestion,
        _read_target,
        task="target",
        takes_place=True,
        title=lambda name, arguments: f"{name} for {arguments[0]}",
        show=lambda live, view, arguments, result: live.present(
            result, f'{live.variable}.on("{arguments[0]}")', view
        ),
    ),
    "compare-targets": ShownAction(
        _NOT_ALIVE,
        TargetQuestion,
        _read_targets,
        task="target",
        takes_place=True,
        title=lambda name, arguments: f"{name} for {', '.join(arguments[0])}",
        show=_show_matrix,
    ),
    "profile": ShownAction(
        "This view has no live function to measure. Run `wb.show` on the result of "
        "`wb.aot_compile` instead.",
        None,
        lambda view, question: (),
        task="measurement",
    ),
    "autotune": ShownAction(
        _NOT_ALIVE,
        None,
        lambda view, question: (),
        task="target",
        takes_place=True,
        title=lambda name, arguments: f"{name} with max-autotune",
        show=lambda live, view, arguments, result: live.present(
            result, _write_tuned(result.report.request.target), view
        ),
    ),
    "save": ShownAction(
        "This view has no live function to save. Run `wb.show` on the result of `wb.aot_compile` "
        "instead.",
        FileQuestion,
        lambda view, question: (question["path"],),
        task="saving",
        title=lambda name, arguments: os.path.basename(arguments[0].strip()) or name,
    ),
    "check": ShownAction(
        "This view has no live function to compare. Run `wb.show` on the result of "
        "`wb.aot_compile` instead.",
        MachineQuestion,
        lambda view, question: (question["machine"],),
        task="comparison",
        title=lambda name, arguments: (
            f"the file of {name} against {arguments[0].strip() or 'this machine'}"
        ),
        show=lambda live, view, arguments, check: view.learn_check(check),
    ),
    "budgets": ShownAction(
        _NO_BUDGETS,
        None,
        lambda view, question: (),
        task="budget",
        title=lambda name, arguments: f"{name}, budgets",
    ),
    "budget": ShownAction(
        _NO_BUDGETS,
        BudgetQuestion,
        lambda view, question: (question["budget"],),
        task="budget",
        title=lambda name, arguments: f"{name}, budget {arguments[0]:g}",
    ),
    "try": ShownAction(
        "This view has no live function to try the change on. Run `wb.show` on the result of "
        "`wb.aot_compile` instead.",
        TrialQuestion,
        lambda view, question: (view.find_opportunity(question["opportunity"]),),
        task="trial",
        title=lambda name, arguments: f"{name} with {arguments[0].rule}",
        show=lambda live, view, arguments, tried: view.learn_trial(arguments[0].key, tried),
    ),
    "check-kernels": ShownAction(
        "This view has no live function to run. Run `wb.show` on the result of `wb.aot_compile` or "
        "`wb.kernel` instead.",
        None,
        lambda view, question: (),
        task="watch",
        title=lambda name, arguments: f"{name} instrumented",
    ),
    "accesses": ShownAction(
        'Accesses are counted for one live kernel: show `compiled.kernel("k0")`.',
        None,
        lambda view, question: (),
        task="watch",
        title=lambda name, arguments: f"{name} for its accesses",
    ),
    "cure": ShownAction(
        "This view has no live function. Run `wb.show` on the result of `wb.explain` instead.",
        CureQuestion,
        lambda view, question: (view.report, question["id"], question["cure"]),
        task="trial",
        title=lambda name, arguments: f"fix {arguments[2] + 1} for break {arguments[1]} in {name}",
        show=lambda live, view, arguments, tried: view.learn_cure(arguments[1:], tried),
    ),
}


@cache
def list_actions() -> Mapping[str, ShownAction]:
    """By id, as the front end asks for it; `LiveAction`s of the same ids start them."""
    return gather(lambda world: world.list_actions(), _OWN, "action")


def choose_opportunity(opportunities: Iterable[Opportunity], id: str) -> Opportunity:
    """The one with an id; raises `UsageError` for another."""
    for opportunity in opportunities:
        if opportunity.id == id:
            return opportunity
    raise UsageError(f"This report has no opportunity {id!r}.")


def explain_not_started(actions: Sequence[LiveAction]) -> dict[str, str | None]:
    """Of every action why it cannot be started from a view, None where it can."""
    offered = {action.id: action.why_not for action in actions}
    return {id: offered.get(id, shown.asleep) for id, shown in list_actions().items()}


def list_costs(actions: Sequence[LiveAction]) -> dict[str, str]:
    """What each action that can be started takes, in a sentence."""
    return {action.id: action.cost for action in actions if action.cost and action.why_not is None}


def find_asleep(report: Report) -> Targets:
    """What could be compiled for in place in a live session."""
    name = report.request.target
    return {"present": name, "choices": [{"name": name, "words": name}], "why_not": _SAVED}


def describe_targets(present: str, names: Iterable[str], why_not: str | None = None) -> Targets:
    """The targets of these names with a description of each."""
    gpus = {gpu.name: f"{gpu.title}, {gpu.arch}" for gpu in Catalogue.built_in()}
    words = {**gpus, **_HERE}
    choices: list[TargetChoice] = [
        {"name": name, "words": words.get(name, name)} for name in dict.fromkeys([*names, present])
    ]
    return {"present": present, "choices": choices, "why_not": why_not}

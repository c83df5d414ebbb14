"""What a live view can start of a compilation while it is alive: its actions, and its profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from workbench.errors import UsageError
from workbench.handles.profile import profile_compiled
from workbench.processes.background_task import BackgroundTask, Steps
from workbench.processes.live_action import LiveAction
from workbench.report.profile import Profile

if TYPE_CHECKING:
    from workbench.handles.compiled import Compiled
    from workbench.handles.other_targets import OtherTargets
    from workbench.handles.recipe import Recipe

_SECONDS = 0.2  # of each of the measurements: the reader waits for all of them


def actions_of(x: OtherTargets) -> tuple[LiveAction, ...]:
    """Everything that can be started of it, each with the reason where it cannot be."""
    again, budgets = x.retarget, x.live_budgets
    return (
        LiveAction("retarget", again.start, again.why_not, again.names),
        LiveAction("compare-targets", again.compare, again.why_not, again.names),
        LiveAction("try", x.try_in_background, again.why_not),
        LiveAction("budgets", lambda: budgets.start(None), budgets.why_not),
        LiveAction("budget", budgets.start, budgets.why_not),
        LiveAction("profile", lambda: start_profile(x), x.why_no_profile),
    )


def start_profile(x: OtherTargets) -> BackgroundTask[Profile]:
    """Measure in a thread of this process, where the module is alive; the report has the times.

    A call runs to its end: cancelling ends the job before its next step. Raises `UsageError` with
    what `why_no_profile` says.
    """
    if x.why_no_profile is not None:
        raise UsageError(x.why_no_profile)
    compiled, recipe = cast("Compiled", x), cast("Recipe", x.recipe)
    gone = recipe.gone()
    notes = (f"zeros in place of inputs that are gone: {', '.join(gone)}",) if gone else ()

    def work(steps: Steps) -> Profile:
        def measure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Profile:
            return profile_compiled(
                compiled, args, kwargs, seconds=_SECONDS, notes=notes, progress=steps
            )

        return recipe.called(measure)

    return BackgroundTask(x.name, work, lambda thread: None)

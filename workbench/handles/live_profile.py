"""Measures a call where a live view shows it, on the inputs that it was compiled for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError
from workbench.handles.profile import profile_compiled
from workbench.processes.background_task import BackgroundTask, Steps
from workbench.report.profile import Profile

if TYPE_CHECKING:
    from workbench.handles.compiled import Compiled

_SECONDS = 0.2  # of each of the measurements: the reader waits for all of them
_GONE = (
    "It was loaded from a file, which holds no inputs to measure it on: call "
    "`compiled.profile(*args)`."
)


class LiveProfile:
    """A profile in the background, after which the report of what was measured has the times.

    `why_not` says why nothing can be measured from here, or is None.
    """

    def __init__(self, compiled: Compiled | None, why_not: str | None = None):
        self._compiled = compiled
        self.why_not = why_not or (None if compiled is None else _why_not(compiled))

    def start(self) -> BackgroundTask[Profile]:
        """Measure in a thread of this process, where the module is alive.

        A call runs to its end: cancelling ends the job before its next step.
        """
        compiled = self._compiled
        recipe = None if compiled is None else compiled.recipe
        if compiled is None or recipe is None or self.why_not is not None:
            raise UsageError(self.why_not or _GONE)
        gone = recipe.gone()
        notes = (f"zeros in place of inputs that are gone: {', '.join(gone)}",) if gone else ()

        def work(steps: Steps) -> Profile:
            def measure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Profile:
                return profile_compiled(
                    compiled, args, kwargs, seconds=_SECONDS, notes=notes, progress=steps
                )

            return recipe.called(measure)

        return BackgroundTask(compiled.name, work, lambda thread: None)


def _why_not(compiled: Compiled) -> str | None:
    if compiled.recipe is None:
        return _GONE
    if not len(compiled.report.kernels):
        return f"The backend {compiled.report.request.backend} generated no kernels to measure."
    return None

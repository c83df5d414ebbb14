"""What a live view starts about the numbers of a call: the comparison, and the trial of a cure."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from workbench.analysis.numerics.numerics_record import add_cures, read_numerics
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.device_kinds import TARGETS
from workbench.errors import UsageError
from workbench.handles.numerics.cure_trials import try_cure
from workbench.handles.numerics.live_numerics import look_at_numbers
from workbench.handles.numerics.watched_numbers import find_own_inputs
from workbench.report.numerics.numerics_rows import NumericsCure
from workbench.tasks.background_task import BackgroundTask, Steps

_FROM_FILE = (
    "It was loaded from a file, which holds code and no graphs: compile the call itself with "
    "`wb.aot_compile(fn, args)`."
)


def explain_no_comparison(compiled: Any) -> str | None:
    """Why a view cannot compare the numbers with eager's, in a sentence; None where it can."""
    if compiled.recipe is None:
        return _FROM_FILE
    if not len(compiled.report.kernels):
        return f"The backend {compiled.report.request.backend} generated no code to compare."
    return None


def describe_comparison(compiled: Any) -> str:
    """What the comparison takes, in a sentence."""
    if compiled.target in TARGETS:
        return "About 60 calls of eager; nothing is compiled where its graphs are at hand."
    return "About 60 calls of eager; every Triton kernel runs once on the CPU, by the interpreter."


def start_comparison(compiled: Any) -> BackgroundTask[Any]:
    """Look at the numbers on the inputs of its compilation; the report has them thereafter.

    Cancelling ends it before its next step. Raises `UsageError` where the inputs are gone: zeros
    in their place would say nothing.
    """
    return _start(
        compiled, lambda args, kwargs, steps: look_at_numbers(compiled, args, kwargs, steps)
    )


def start_cure(compiled: Any, cure: Opportunity) -> BackgroundTask[Any]:
    """Compile the call with an option, compare and time it; the report has what came of it.

    Raises `UsageError` as `start_comparison` does.
    """

    def work(args: tuple[Any, ...], kwargs: dict[str, Any], steps: Steps) -> NumericsCure:
        found = read_numerics(compiled.report)
        assert found is not None  # the cure is one of its rows
        look = partial(look_at_numbers, args=args, kwargs=kwargs, progress=steps)
        tried = try_cure(compiled, found, cure, look, steps)
        compiled.update(add_cures(compiled.report, [tried]))
        return tried

    return _start(compiled, work)


def _start(compiled: Any, work: Any) -> BackgroundTask[Any]:
    if (why := explain_no_comparison(compiled)) is not None:
        raise UsageError(why)
    find_own_inputs(compiled)

    def look(steps: Steps) -> Any:
        return compiled.recipe.called(lambda args, kwargs: work(args, kwargs, steps))

    def let_it_end(thread: threading.Thread) -> None:
        """The next step that is told ends it."""

    return BackgroundTask(compiled.name, look, let_it_end)

"""What a live view starts about kernels: the run under watch, what the memory sees, other GPUs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from workbench.compiler.interpreter.verification import keep_warm_interpreter
from workbench.compiler.request.compile_request import list_known_gpus
from workbench.compiler.virtual_gpu.client import keep_warm_worker
from workbench.device_kinds import TARGETS
from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.tasks.background_task import BackgroundTask, Steps
from workbench.tasks.live_action import LiveAction

if TYPE_CHECKING:
    from workbench.analysis.gpu_model.matrix import Matrix

_GLUON = (
    "Kernels of Gluon are compiled and not run here: triton-viz simulates them, where it is "
    "installed."
)
_META = "A tensor is on meta and holds no numbers, so that nothing can be run."
_FROM_FILE = (
    "It was loaded from a file, which holds no inputs to run it on: compile the call itself with "
    "`wb.aot_compile(fn, args)`."
)
_NOT_VIRTUAL = (
    "Kernels are run under watch of a program for a GPU that is not here: compile it with "
    '`target="h100"`.'
)
_ELSEWHERE = {
    "profile": "It is compiled for a GPU that is not here: `k.tune(measure=5)` times its best "
    "configurations where the GPU is.",
    "autotune": "`k.rank_configs()` orders the configurations of its autotuner by a model, "
    "`k.tune()` those of a space.",
    "numerics": "A kernel by itself has no eager twin: `k.check(reference)` compares its values "
    "with yours.",
    "save": "A kernel by itself is no `.aot` file: `k.save(path)` writes its record.",
    "check": "A kernel by itself is no `.aot` file, so that no machine can be asked about it.",
    "budgets": "A kernel by itself allocates nothing.",
    "budget": "A kernel by itself allocates nothing.",
}


class LiveKernel(Protocol):
    """One call of a kernel, as far as it is asked here."""

    call: Any

    @property
    def name(self) -> str:
        """What people call it."""

    def on(self, target: str, /) -> LiveKernel:
        """The same call for another GPU."""

    def compile(self, progress: Any = None) -> Any:
        """Its report, made where there is none yet."""

    def check(self, *, progress: Any = None) -> Any:
        """Run it under watch."""

    def look_at_accesses(self, *, progress: Any = None) -> Any:
        """Count what the memory sees of it."""

    def matrix(self, targets: Sequence[str], *, progress: Any = None) -> Matrix:
        """What other GPUs make of it."""


def list_kernel_actions(kernel: LiveKernel) -> tuple[LiveAction, ...]:
    """What a view can start about one call of a kernel, each with the reason where it cannot."""
    call, names = kernel.call, tuple(gpu.name for gpu in list_known_gpus())
    why_not = _GLUON if call.is_gluon else _META if call.is_data_free else None

    def check(steps: Steps) -> Any:
        return kernel.check(progress=steps)

    def compile_for(target: str, steps: Steps) -> LiveKernel:
        other = kernel.on(target)
        other.compile(steps)
        return other

    def compare(targets: Sequence[str], steps: Steps) -> Matrix:
        return kernel.matrix(targets, progress=steps)

    start = partial(_start, kernel.name)
    return (
        LiveAction("retarget", lambda name: start(partial(compile_for, name)), choices=names),
        LiveAction("compare-targets", lambda of: start(partial(compare, of)), choices=names),
        LiveAction(
            "check-kernels",
            lambda: start(check),
            why_not,
            cost="Each program of the grid runs on the CPU; values are compared where "
            "k.check(reference) is given what they should be.",
        ),
        LiveAction(
            "accesses",
            lambda: start(lambda steps: kernel.look_at_accesses(progress=steps)),
            why_not,
            cost="The call runs once on the CPU; what may help is compiled again.",
        ),
        *(LiveAction(id, _refuse, why) for id, why in _ELSEWHERE.items()),
    )


def _refuse() -> BackgroundTask[Any]:
    """What has a reason against it is not started."""
    raise UsageError("A kernel by itself does not do that.")


def explain_no_check(compiled: Any) -> str | None:
    """Why the kernels of a program cannot be checked from a view; None where they can."""
    if compiled.recipe is None:
        return _FROM_FILE
    if compiled.target in TARGETS:
        return _NOT_VIRTUAL
    if not any(kernel.language == "triton" for kernel in compiled.report.kernels):
        return "The program has no Triton kernel."
    return None


def describe_check(compiled: Any) -> str:
    """What the check of a program's kernels takes, in a sentence."""
    count = sum(kernel.language == "triton" for kernel in compiled.report.kernels)
    return f"Runs {plural(count, 'Triton kernel')} on the CPU, every program of each."


def start_check(compiled: Any) -> BackgroundTask[Any]:
    """Check the kernels of a program on the inputs of its compilation, in the background.

    Raises `UsageError` where the inputs are gone.
    """
    if (why := explain_no_check(compiled)) is not None:
        raise UsageError(why)
    compiled.recipe.inputs()

    def check(steps: Steps) -> Any:
        return compiled.recipe.called(
            lambda args, kwargs: compiled.watch_kernels(args, kwargs, progress=steps)
        )

    return _start(compiled.name, check)


def _start(name: str, work: Callable[[Steps], Any]) -> BackgroundTask[Any]:
    def stop(thread: threading.Thread) -> None:
        keep_warm_interpreter().kill_for(thread)
        keep_warm_worker().kill_for(thread)

    return BackgroundTask(name, work, stop)

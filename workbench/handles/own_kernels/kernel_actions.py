"""What a live view starts about kernels: the run under watch, what the memory sees, other GPUs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.analysis.kernel_checks.kernel_check import KernelCheck, add_check
from workbench.compiler.interpreter.verification import keep_warm_interpreter
from workbench.compiler.kernel_checks.kernel_checking import TIME_LIMIT
from workbench.compiler.kernel_checks.program_checks import check_program
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.request.callables import resolve
from workbench.compiler.request.compile_request import list_known_gpus
from workbench.compiler.virtual_gpu.client import keep_warm_worker
from workbench.device_kinds import TARGETS
from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.tasks.background_task import BackgroundTask, Steps
from workbench.tasks.live_action import LiveAction, add_starters
from workbench.tasks.progress_events import ProgressCallback

if TYPE_CHECKING:
    from workbench.analysis.gpu_model.matrix import Matrix

_GLUON = (
    "Kernels of Gluon are compiled and not run here, and triton-viz 3.0, the last that was tried, "
    "does not run them either."
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
    "save": "A kernel by itself is no `.aot` file: `k.save(path)` writes its record.",
    "check": "A kernel by itself is no `.aot` file, so that no machine can be asked about it.",
    "budgets": "A kernel by itself allocates nothing.",
    "budget": "A kernel by itself allocates nothing.",
}


def list_kernel_actions(
    call: KernelCall,
    compile_for: Callable[[str, Steps], Any],
    compare: Callable[[Sequence[str], Steps], Matrix],
    check: Callable[[Steps], KernelCheck],
    look: Callable[[Steps], object],
) -> tuple[LiveAction, ...]:
    """What a view can start about one call of a kernel, each with the reason where it cannot.

    The four do it: the call for another GPU, what others make of it, the run under watch, what the
    memory sees.
    """
    names = tuple(gpu.name for gpu in list_known_gpus())
    why_not = _GLUON if call.is_gluon else _META if call.is_data_free else None
    start = partial(_start, call.name)
    own = (
        LiveAction("retarget", lambda name: start(partial(compile_for, name)), choices=names),
        LiveAction("compare-targets", lambda of: start(partial(compare, of)), choices=names),
        LiveAction(
            "check-kernels",
            lambda: start(check),
            _GLUON if call.is_gluon else None,
            cost="Each program of the grid runs on the CPU; values are compared where "
            "k.check(reference) is given what they should be.",
        ),
        LiveAction(
            "accesses",
            lambda: start(look),
            why_not,
            cost="The call runs once on the CPU; what may help is compiled again.",
        ),
        *(LiveAction(id, _refuse, why) for id, why in _ELSEWHERE.items()),
    )
    return add_starters(own, call)


def _refuse() -> BackgroundTask[Any]:
    """What has a reason against it is not started."""
    raise UsageError("A kernel by itself does not do that.")


def explain_no_check(compiled: Any) -> str | None:
    """Why the kernels of a program cannot be checked from a view; None where they can."""
    if compiled.recipe is None:
        return _FROM_FILE
    if compiled.target in TARGETS:
        return _NOT_VIRTUAL
    if not _count_kernels(compiled):
        return "The program has no Triton kernel."
    return None


def describe_check(compiled: Any) -> str:
    """What the check of a program's kernels takes, in a sentence."""
    count = _count_kernels(compiled)
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
            lambda args, kwargs: watch_kernels(compiled, args, kwargs, progress=steps)
        )

    return _start(compiled.name, check)


def watch_kernels(
    compiled: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any],
    time_limit: float = TIME_LIMIT, progress: ProgressCallback | None = None,
) -> KernelCheck:  # fmt: skip
    """See `CrossCompiled.check_kernels`; tells how many kernels have run."""
    callee = resolve(compiled.original)
    count = _count_kernels(compiled)
    found = check_program(compiled.program, callee, args, kwargs, time_limit, count, progress)
    compiled.update(add_check(compiled.report, found.findings, found.cases))
    return KernelCheck(compiled.report, found.findings, found.cases)


def _count_kernels(compiled: Any) -> int:
    return len({row.name for row in compiled.report.kernels if row.language == "triton"})


def _start(name: str, work: Callable[[Steps], Any]) -> BackgroundTask[Any]:
    def stop(thread: threading.Thread) -> None:
        keep_warm_interpreter().kill_for(thread)
        keep_warm_worker().kill_for(thread)

    return BackgroundTask(name, work, stop)

"""The kernels of a program under watch: each launch runs on the CPU and is checked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from workbench.analysis.kernel_checks.kernel_check import KernelCheck, add_check
from workbench.compiler.interpreter.verification import keep_warm_interpreter
from workbench.compiler.kernel_checks.kernel_checking import TIME_LIMIT
from workbench.compiler.kernel_checks.program_checks import check_program
from workbench.compiler.request.callables import resolve
from workbench.compiler.virtual_gpu.client import keep_warm_worker
from workbench.device_kinds import TARGETS
from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.tasks.background_task import BackgroundTask, Steps
from workbench.tasks.progress_events import ProgressCallback

_FROM_FILE = (
    "This program was loaded from a file, and files do not contain inputs to run it with. Compile "
    "the call "
    "itself with "
    "`wb.aot_compile(fn, args)`."
)
_NOT_VIRTUAL = (
    'Kernels run instrumented only if compiled for a virtual GPU: compile with `target="h100"`.'
)


def explain_no_check(compiled: Any) -> str | None:
    """Return the reason why a view cannot check a program's kernels, or None if it can."""
    if compiled.recipe is None:
        return _FROM_FILE
    if compiled.target in TARGETS:
        return _NOT_VIRTUAL
    if not _count_kernels(compiled):
        return "The program has no Triton kernel."
    return None


def describe_check(compiled: Any) -> str:
    """Describe the cost of checking a program's kernels in one sentence."""
    count = _count_kernels(compiled)
    return f"Runs every program instance of {plural(count, 'Triton kernel')} on the CPU."


def start_check(compiled: Any) -> BackgroundTask[Any]:
    """Check a program's kernels in the background, on the inputs of its compilation.

    Raises `UsageError` if the inputs no longer exist.
    """
    if (why := explain_no_check(compiled)) is not None:
        raise UsageError(why)
    compiled.recipe.inputs()

    def check(steps: Steps) -> Any:
        return compiled.recipe.called(
            lambda args, kwargs: watch_kernels(compiled, args, kwargs, progress=steps)
        )

    return start_work(compiled.name, check)


def watch_kernels(
    compiled: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    time_limit: float = TIME_LIMIT,
    progress: ProgressCallback | None = None,
) -> KernelCheck:
    """Run `CrossCompiled.check_kernels` and report how many kernels have run."""
    callee = resolve(compiled.original)
    count = _count_kernels(compiled)
    found = check_program(compiled.program, callee, args, kwargs, time_limit, count, progress)
    compiled.update(add_check(compiled.report, found.findings, found.cases))
    return KernelCheck(compiled.report, found.findings, found.cases)


def _count_kernels(compiled: Any) -> int:
    return len({row.name for row in compiled.report.kernels if row.language == "triton"})


def start_work(name: str, work: Callable[[Steps], Any]) -> BackgroundTask[Any]:
    """Compile or interpret kernels in the background, in workers that end when cancelled."""

    def stop(thread: threading.Thread) -> None:
        keep_warm_interpreter().kill_for(thread)
        keep_warm_worker().kill_for(thread)

    return BackgroundTask(name, work, stop)

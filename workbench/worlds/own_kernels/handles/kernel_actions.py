"""What a live view starts about kernels: the run under watch, what the memory sees, other GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.request.compile_request import list_known_gpus
from workbench.errors import UsageError
from workbench.handles.devices.watched_kernels import start_work
from workbench.tasks.background_task import BackgroundTask, Steps
from workbench.tasks.live_action import LiveAction, add_starters

if TYPE_CHECKING:
    from workbench.analysis.gpu_model.matrix import Matrix
    from workbench.analysis.kernel_checks.kernel_check import KernelCheck

_GLUON = (
    "Gluon kernels are compiled here but cannot be run; triton-viz 3.0, the last release tried, "
    "cannot run them either."
)
_META = "A tensor is on the meta device and has no data, so the kernel cannot run."
_ELSEWHERE = {
    "profile": "This machine does not have the kernel's GPU. On one that does, "
    "`k.tune(measure=5)` times the best configurations.",
    "autotune": "`k.rank_configs()` ranks its autotuner's configurations by modelled time, "
    "`k.tune()` those of a search space.",
    "save": "A single kernel is not an `.aot` file: `k.save(path)` writes its report.",
    "check": "A single kernel is not an `.aot` file, so it cannot be checked for a machine.",
    "budgets": "A single kernel allocates nothing.",
    "budget": "A single kernel allocates nothing.",
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
    start = partial(start_work, call.name)
    own = (
        LiveAction("retarget", lambda name: start(partial(compile_for, name)), choices=names),
        LiveAction("compare-targets", lambda of: start(partial(compare, of)), choices=names),
        LiveAction(
            "check-kernels",
            lambda: start(check),
            _GLUON if call.is_gluon else None,
            cost="Every program instance runs on the CPU. To compare values, use "
            "k.check(reference).",
        ),
        LiveAction(
            "accesses",
            lambda: start(look),
            why_not,
            cost="The call runs once on the CPU; possible fixes are compiled.",
        ),
        *(LiveAction(id, _refuse, why) for id, why in _ELSEWHERE.items()),
    )
    return add_starters(own, call)


def _refuse() -> BackgroundTask[Any]:
    """What has a reason against it is not started."""
    raise UsageError("A single kernel does not support this.")

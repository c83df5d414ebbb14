"""Compiles again for other targets what is already compiled: in place, or side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.compiler.contract.request import TARGETS
from workbench.compiler.virtual_gpu.client import warm_worker
from workbench.errors import UsageError
from workbench.handles.recipe import Recipe
from workbench.processes.background_task import BackgroundTask, Steps
from workbench.settings import Settings
from workbench.specs import Catalogue

if TYPE_CHECKING:
    from workbench.analysis.gpu_model.matrix import Matrix

_GONE = (
    "It was loaded from a file, which does not hold the function: compile the call again with "
    "`wb.aot_compile(fn, args, target=NAME)`."
)


class Retarget:
    """The targets that a compilation can be made for again, and how.

    `why_not` says why it cannot. A recompilation for a target is kept, so that `on` answers at
    once where somebody has already chosen that target in a view.
    """

    def __init__(self, x: Any, recipe: Recipe | None):
        self._x = x
        self._recipe = recipe
        self._made: dict[str, Any] = {}
        self._jobs: dict[str, Any] = {}
        self.why_not = None if recipe is not None else _GONE

    @property
    def names(self) -> tuple[str, ...]:
        """The device of this machine, then every GPU."""
        gpus = Catalogue.of_user(Settings.from_environment().data_folder)
        return ("host", *(gpu.name for gpu in gpus))

    def on(self, target: str) -> Any:
        """The same call compiled for another target; raises what a compilation raises."""
        if target == self._x.report.request.target:
            return self._x
        job = self._jobs.get(target)
        if job is not None and job.progress["status"] == "done":
            return job.result()
        if target not in self._made:
            self._made[target] = self._known.compile(target)
        return self._made[target]

    def start(self, target: str) -> Any:
        """Compile for a target in the background; the job's result is what `on` then returns.

        Raises `UsageError` for a target that does not exist and for inputs that are gone.
        """
        job = self._jobs[target] = self._known.compile_in_background(target)
        return job

    def first_for(self, targets: Sequence[str]) -> str | None:
        """The GPU that the call is compiled for before kernels can be compared, if it has to be.

        Code for a CPU has no kernel that a GPU could run.
        """
        kernels = self._x.report.kernels
        return None if any(kernel.language == "triton" for kernel in kernels) else targets[0]

    def compare(self, targets: Sequence[str]) -> BackgroundTask[Matrix]:
        """Compile every Triton kernel for several GPUs in the background.

        Raises `UsageError` for what is no GPU.
        """
        from workbench.handles.compare_targets import compare, gpus_of

        own = [name for name in targets if name in TARGETS]
        if own:
            raise UsageError(f"Kernels are compared on GPUs, and {own[0]!r} is none: leave it out.")
        gpus_of(targets)
        first = self.first_for(targets)

        def work(steps: Steps) -> Matrix:
            made = self._x
            if first is not None:
                made = self._made[first] = self._known.compile(first, steps)
            steps(f"compiling every kernel for {', '.join(targets)}", 0.0)

            def built(words: str, elapsed: float) -> None:
                steps.kernel(words)

            return compare(made.report, targets, is_ours=True, progress=built)

        name = f"kernels of {self._x.report.request.name}"
        return BackgroundTask(name, work, warm_worker().kill)

    @property
    def _known(self) -> Recipe:
        if self._recipe is None:
            raise UsageError(self.why_not or _GONE)
        return self._recipe

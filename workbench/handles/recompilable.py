"""What every compilation offers about code for other GPUs: its call again, kernels otherwise."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from workbench.arguments import checked
from workbench.compiler.request.compile_request import CompileRequest, list_known_gpus
from workbench.device_kinds import TARGETS
from workbench.errors import UsageError
from workbench.handles.base.compiled_base import CompiledBase
from workbench.live_only import LivePart
from workbench.number_text import number_text
from workbench.tasks.background_task import BackgroundTask, Steps

if TYPE_CHECKING:
    from workbench.analysis.gpu_model.matrix import Matrix
    from workbench.analysis.memory.memory import Memory
    from workbench.analysis.opportunities.opportunity import Opportunity, Tried
    from workbench.analysis.tuning.tuned import RankedConfigs
    from workbench.artifacts.preflight.check import Check
    from workbench.compiler.comparison.output_comparison import Verification
    from workbench.handles.base.compiled_base import Recipe
    from workbench.handles.memory.checkpoint import Checkpoint, LiveBudgets
    from workbench.report.profile_record import Profile
    from workbench.tasks.live_action import LiveAction
    from workbench.tasks.progress_events import ProgressCallback

_NO_INPUTS = (
    "This program was loaded from a file, and files do not contain inputs to measure it with. Call "
    "`compiled.profile(*args)`."
)
_GONE = (
    "This program was loaded from a file that does not contain the function. Compile the call "
    "again with "
    "`wb.aot_compile(fn, args, target=NAME)`."
)


class Retarget(LivePart):
    """Recompile a call for other targets.

    If recompiling is not possible, `why_not` is the reason. Results are cached: `on` returns
    immediately if a view has already compiled for that target.
    """

    def __init__(self, x: CompiledBase, recipe: Recipe | None):
        self._x = x
        self._recipe = recipe
        self._made: dict[str, Any] = {}
        self._jobs: dict[str, Any] = {}
        self.why_not = None if recipe is not None else _GONE

    @property
    def names(self) -> tuple[str, ...]:
        """The target names: this machine's own device, then all GPUs."""
        return ("host", *(gpu.name for gpu in list_known_gpus()))

    def on(self, target: str) -> Any:
        """Compile the same call for another target, with the same errors as `aot_compile`."""
        if target == self._x.report.request.target:
            return self._x
        job = self._jobs.get(target)
        if job is not None and job.progress["status"] == "done":
            return job.result()
        if target not in self._made:
            self._made[target] = self._known.compile(target)
        return self._made[target]

    def start(self, target: str) -> Any:
        """Compile for a target in the background; `on` returns the result once the job is done.

        Raises `UsageError` if the target is unknown or the inputs no longer exist.
        """
        job = self._jobs[target] = self._known.compile_in_background(target)
        return job

    def compare(self, targets: Sequence[str]) -> BackgroundTask[Matrix]:
        """Compile every Triton kernel for several GPUs in the background.

        If the call was compiled for the CPU, it is first compiled for the first GPU in `targets`.
        Raises `UsageError` if a target is not a known GPU.
        """
        from workbench.compiler.virtual_gpu.client import keep_warm_worker
        from workbench.handles.kernels.compare_targets import compare, find_target_gpus
        from workbench.tasks.background_task import BackgroundTask

        own = [name for name in targets if name in TARGETS]
        if own:
            raise UsageError(
                f"Kernels are compared on GPUs, and {own[0]!r} is not one. Leave it out."
            )
        find_target_gpus(targets)
        kernels = self._x.report.kernels
        has_triton = any(kernel.language == "triton" for kernel in kernels)

        def work(steps: Steps) -> Matrix:
            made = self._x
            if not has_triton:
                made = self._made[targets[0]] = self._known.compile(targets[0], steps)
            return compare(made.report, targets, is_ours=True, progress=steps)

        return BackgroundTask(self._x.report.request.name, work, keep_warm_worker().kill_for)

    @property
    def _known(self) -> Recipe:
        if self._recipe is None:
            raise UsageError(self.why_not or _GONE)
        return self._recipe


class Recompilable(CompiledBase, ABC):
    """Base class of the results of `aot_compile`, with methods that recompile the call."""

    @abstractmethod
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the compiled code, or raise `UsageError` if it cannot run on this machine."""

    @checked
    def verify(
        self,
        /,
        *args: Any,
        ranks: int | None = None,
        build: Any = None,
        reference: Any = None,
        **kwargs: Any,
    ) -> Verification:
        """Compare the outputs with eager on these inputs; shorthand for `workbench.verify`.

        Pass `ranks` to compare every rank of a virtual cluster. In that case, `build` and
        `reference` are passed on to `workbench.verify`; otherwise they are arguments of the call.
        If the function itself has arguments with these names, call `workbench.verify`, which takes
        the function's arguments separately.
        """
        if ranks is None:  # names of the function's own, then
            own = {"build": build, "reference": reference}
            named = {name: value for name, value in own.items() if value is not None}
            return self._verify_here(args, {**kwargs, **named})
        from workbench.handles.running.verify import verify_ranks

        return verify_ranks(self, args, kwargs, ranks=ranks, build=build, reference=reference)

    @abstractmethod
    def _verify_here(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Verification:
        """Compare with the original on these inputs."""

    @abstractmethod
    def profile(self, /, *args: Any, **kwargs: Any) -> Profile:
        """Measure every kernel, or raise `UsageError` if the code cannot run on this machine."""

    @abstractmethod
    def save(
        self,
        path: str | PathLike[str],
        *,
        weights: str | None = None,
        isa: str | list[str] = "native",
    ) -> str:
        """Write an `.aot` file atomically, and return its SHA-256 digest."""

    @cached_property
    def retarget(self) -> Retarget:
        """Compile the same call for other targets."""
        return Retarget(self, self.recipe)

    @property
    def why_no_profile(self) -> str | None:
        """A sentence that says why a view cannot measure the kernels, or None if it can."""
        if self.recipe is None:
            return _NO_INPUTS
        if not len(self.report.kernels):
            return f"The backend {self.report.request.backend} generated no kernels to measure."
        return None

    @property
    def live_actions(self) -> tuple[LiveAction, ...]:
        """The actions of a live view while this object exists, with reasons for blocked ones."""
        from workbench.handles.devices import watched_kernels
        from workbench.handles.running.profile import describe_profile, start_profile
        from workbench.tasks.live_action import LiveAction, add_starters

        again, budgets = self.retarget, self.live_budgets
        no_choices = explain_no_autotune(self, again.why_not)
        own = (
            LiveAction("retarget", again.start, again.why_not, again.names),
            LiveAction("compare-targets", again.compare, again.why_not, again.names),
            LiveAction("try", self.try_in_background, again.why_not),
            LiveAction("budgets", lambda: budgets.start(None), budgets.why_not),
            LiveAction("budget", budgets.start, budgets.why_not),
            LiveAction(
                "profile",
                lambda: start_profile(self),
                self.why_no_profile,
                cost=describe_profile(self.report),
            ),
            LiveAction(
                "autotune",
                lambda: start_autotune(self),
                no_choices,
                cost=COST,
            ),
            LiveAction(
                "save",
                lambda path: start_save(self, path),
                cost=describe_saving(self),
            ),
            LiveAction(
                "check-kernels",
                lambda: watched_kernels.start_check(self),
                watched_kernels.explain_no_check(self),
                cost=watched_kernels.describe_check(self),
            ),
            LiveAction("check", lambda machine: start_check(self, machine)),
        )
        return add_starters(own, self)

    @checked
    def try_in_background(self, change: Opportunity) -> BackgroundTask[Tried]:
        """Try an opportunity in the background, or raise `UsageError` if it cannot be tried."""
        from workbench.handles.opportunities.opportunity_trial import try_in_background

        return try_in_background(self, change)

    @checked
    def with_fusion(
        self,
        *,
        forbid: Sequence[tuple[str, str]] = (),
        force: Sequence[tuple[str, str]] = (),
        unfused: Sequence[str] = (),
    ) -> Recompilable:
        """Recompile the call with given pairs kept unfused, or fused despite Inductor's heuristics.

        A pair consists of kernels ("k0"), scheduler nodes ("op1") or FX nodes ("relu"), as in
        `report.frame("not_fused")`. In the kernels in `unfused`, every operator writes its result
        to memory, as in eager. Use `workbench.diff` to see the effect. Raises `UsageError` if a
        name is unknown, or if a pair cannot be fused, with the reason.
        """
        from workbench.handles.chosen_fusion import with_fusion

        made: Recompilable = with_fusion(self, forbid, force, unfused)
        return made

    @checked
    def on(self, target: str) -> Recompilable:
        """Compile the same call for another target, such as "h100", and cache the result."""
        retargeted: Recompilable = self.retarget.on(target)
        return retargeted

    @checked
    def memory(
        self, *, eager: bool | None = None, progress: ProgressCallback | None = None
    ) -> Memory:
        """Count the live memory at each step of the call, without running it, and analyse the peak.

        For code that runs on this CPU, `.measure(*args)` of the result compares the count with the
        actual allocations of a call. With `eager=True`, the eager peak is also counted once, on
        tensors without data, and stored in the report. This is the default for a virtual GPU, where
        a copy of the call runs on such tensors in a fraction of a second. On the host, Dynamo
        captures the call again. The captured graph frees values earlier than Python does, so use
        `.measure` for the real peak. Raises `UsageError` if the compilation has no generated
        program.
        """
        from workbench.analysis.memory.memory import memory
        from workbench.analysis.memory.timeline import explain_unknown_memory
        from workbench.handles.memory.measured import count_eager

        is_wanted = self.target not in TARGETS if eager is None else eager
        if is_wanted and explain_unknown_memory(self.report) is None:
            from workbench.handles.running.progress_line import follow_in_a_line

            with follow_in_a_line(progress, "The memory of eager") as told:
                count_eager(self, told)
        return memory(self.report)

    @checked
    def checkpoint(
        self,
        progress: ProgressCallback | None = None,
        *,
        estimator: Literal["flops", "roofline"] = "flops",
    ) -> Checkpoint:
        """Count what a training step saves and recomputes under other activation memory budgets.

        The step is recompiled once to get its joint graph. On the result, `.at(0.5)` compiles a
        budget and reads its peak, and `.best()` returns the compiled budget with the lowest peak.
        Further calls return the same object. `estimator` selects the operator times that torch uses
        to choose the saved activations. "flops" is torch's own estimate, and "roofline" adds memory
        traffic on the target GPU. Raises `UsageError` if the call has no backward pass or was
        loaded from a file, or if "roofline" is used on a CPU.
        """
        from workbench.handles.running.progress_line import follow_in_a_line

        with follow_in_a_line(progress, "Memory budgets") as told:
            return self.live_budgets.checkpoint(told, estimator)

    @cached_property
    def live_budgets(self) -> LiveBudgets:
        """The memory budgets that a live view can try."""
        from workbench.handles.memory.checkpoint import LiveBudgets

        return LiveBudgets(self)

    @checked
    def kernel(self, name: str) -> Any:
        """Return a Triton kernel as a standalone call, whether Inductor's or your own.

        `name` is the kernel's id, such as "k3", or its name. The result has the same type as that
        of `wb.kernel`. Floating-point inputs are random values between 0 and 1, and integer inputs
        are zeros. Raises `UsageError` if the kernel is unknown, a size is symbolic, or the
        compilation was loaded from a file.
        """
        from workbench.handles.kernels.ranked import get_gpu
        from workbench.worlds.world import ask, list_worlds

        if self.recipe is None:
            raise UsageError(_GONE)
        gpu = get_gpu(self.report)
        for world in list_worlds():
            taken = ask(world, lambda each: each.take_kernel(self.report, name, gpu), None, name)
            if taken is not None:
                return taken
        raise UsageError("The package that extracts a kernel from a program is not installed here.")

    @checked
    def rank_configs(
        self,
        kernel: str,
        *,
        blocks: Mapping[str, Iterable[int]] | None = None,
        warps: Iterable[int] | None = None,
        stages: Iterable[int] | None = None,
        sizes: Mapping[str, int] | None = None,
        prior: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
        progress: ProgressCallback | None = None,
    ) -> RankedConfigs:
        """Compile the configurations of one Triton kernel and rank them by modelled time.

        No configuration is run. Time the top few on the GPU. For four kernels on an H200, the top
        pick took 1.00 to 2.95 times the best time, and the best of the top 5 took 1.00 to 1.09
        times. For hand-written Triton matmuls, `docs/pages/about/ranked-configurations.md` shows
        how often the best config for a device is ranked near the top. A configuration is rejected
        if a K-loop iteration spans more than one scale block. This check needs an argument with a
        name such as `SCALE_K` or `group_k`, or `SCALE_K` in `sizes`.

        `kernel` is a kernel's id or name. `blocks` maps parameters to powers of two, such as
        `{"XBLOCK": (64, 128)}`; values for missing parameters are derived from the kernel. For
        hand-written matmuls, set M, N and K in `sizes` if the call does not pass them as numbers. A
        fused MoE also needs E (experts) and TOP (experts per token); M is then the number of
        tokens. `prior` lists files or folders with the best configs of GPUs, in the format of vLLM
        and sglang. Configurations near a best config for a similar problem on a similar GPU are
        ranked higher. By default, published best configs are used where they are known to improve
        on the model's ranking; pass `[]` to use none. Raises `UsageError` for an unknown kernel,
        parameter, size or file, and lists the known ones.
        """
        from workbench.handles.kernels.ranked import get_gpu, rank_configs
        from workbench.handles.running.progress_line import follow_in_a_line

        with follow_in_a_line(progress, f"Configurations of {kernel}") as told:
            return rank_configs(
                self.report,
                get_gpu(self.report),
                kernel,
                blocks=blocks,
                warps=warps,
                stages=stages,
                sizes=sizes,
                prior=prior,
                progress=told,
            )


MODE = "max-autotune"
COST = "Recompiles once and benchmarks every choice."


def start_autotune(compiled: CompiledBase) -> BackgroundTask[Any]:
    """Compile with `mode="max-autotune"` in a thread; a cancelled job stops at the next phase."""
    recipe: Any = compiled.recipe

    def autotuned(call: CompileRequest) -> CompileRequest:
        return replace(call, options=replace(call.options, mode=MODE))

    def work(steps: Steps) -> Any:
        made, _, _ = recipe.compile_changed(autotuned, steps)
        return made

    def stop(thread: threading.Thread) -> None:
        if compiled.report.request.target not in TARGETS:
            from workbench.compiler.virtual_gpu.client import keep_warm_worker

            keep_warm_worker().kill_for(thread)

    return BackgroundTask(compiled.report.request.name, work, stop)


def explain_no_autotune(compiled: CompiledBase, gone: str | None) -> str | None:
    """Return a sentence that says why autotuning is not possible, or None if it is."""
    if gone is not None:
        return gone
    request = compiled.report.request
    if request.backend != "inductor":
        return f"The backend {request.backend} has no choices to benchmark."
    return f"It was already compiled with {request.mode}." if _is_tuned(request.mode) else None


def _is_tuned(mode: str | None) -> bool:
    return bool(mode and mode.startswith(MODE))


_UNSAVED = "There is no file to check against a machine yet. Save one first."


def start_save(compiled: Any, path: str) -> BackgroundTask[str]:
    """Write an `.aot` file in a background thread.

    The job's result is the digest, which is also added to the report. Raises `UsageError` if the
    path has no file name or already exists.
    """
    name = path.strip()
    if not os.path.basename(name):
        raise UsageError("Name the file to write, such as model.aot.")
    place = os.path.expanduser(name if name.endswith(".aot") else f"{name}.aot")
    if os.path.exists(place):
        raise UsageError(f"{place} already exists. Choose another name, or remove it first.")

    def work(steps: Steps) -> str:
        steps("writing the file", 0.0)
        digest: str = compiled.save(place)
        return digest

    return BackgroundTask(os.path.basename(place), work, _let_it_end)


def start_check(compiled: Any, machine: str) -> BackgroundTask[Check]:
    """Check the saved file against this machine, or against a machine described in a file.

    Raises `UsageError` if the compilation was not saved.
    """
    path = _find_file(compiled)

    def work(steps: Steps) -> Check:
        from workbench.artifacts.preflight.check import check

        steps("comparing needs and hashes", 0.0)
        return check(path, os.path.expanduser(machine.strip()) or None)

    return BackgroundTask(os.path.basename(path), work, _let_it_end)


def describe_saving(compiled: Any) -> str:
    """Return a sentence on the cost of saving."""
    module = getattr(compiled, "module", None)
    size = sum(p.nbytes for p in module.parameters()) if module is not None else 0
    weights = f", {number_text(size, 'bytes')} of it weights" if size else ""
    return f"Writes one file on the Jupyter kernel's machine{weights}; nothing is executed."


def _find_file(compiled: Any) -> str:
    places = [row.value for row in compiled.report.artifact if row.name == "Path"]
    if not places:
        raise UsageError(_UNSAVED)
    path: str = os.path.expanduser(places[0])
    if not os.path.exists(path):
        raise UsageError(f"{places[0]} no longer exists. Save it again.")
    return path


def _let_it_end(thread: threading.Thread) -> None:
    """A file is written whole or not at all: what was begun ends before the job does."""

"""The user's end of the worker that compiles for virtual GPUs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from math import inf
from pathlib import Path

from workbench.compiler.internals.torch_state import TorchState
from workbench.compiler.pipeline.modes import merge_options
from workbench.compiler.process_groups.cluster import find_cluster, refuse_hooks
from workbench.compiler.request.callables import resolve
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.kernel_choice import Build, BuildJob, Built
from workbench.compiler.virtual_gpu.worker_messages import (
    CrossCompilation,
    CrossPackage,
    Job,
    PackageJob,
)
from workbench.errors import UsageError
from workbench.processes.shipping.caller_context import CallerContext
from workbench.processes.shipping.shipped_values import Forms, pack_described
from workbench.processes.worker import Worker, WorkerEnded
from workbench.settings import Settings, read_triton_switches
from workbench.specs import Gpu
from workbench.specs.device import Device
from workbench.tasks.progress_events import (
    ProgressCallback,
    listens_to_counts,
    step,
    tell_count,
)

_CURE = "Pass such objects as uncompiled arguments, or create them inside the function."
HIDDEN = ("TRITON_INTERPRET", "TRITON_CACHE_DIR", "TORCHINDUCTOR_FORCE_DISABLE_CACHES")


def list_own_caches() -> dict[str, str]:
    """What is set in the environment of a process that works for virtual GPUs.

    What was compiled for a virtual GPU must not answer for a real one of the same name.
    """
    settings = Settings.from_environment()
    base = Path(settings.inductor_cache or settings.cache_folder) / "virtual_gpu" / "inductor"
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(base),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no pool of processes that look for a device
        "CUDA_VISIBLE_DEVICES": "",
        "HIP_VISIBLE_DEVICES": "",
    }


class CrossCompiler(Worker):
    """A process that compiles for virtual GPUs."""

    program = "workbench.compiler.virtual_gpu.gpu_worker"
    hidden = HIDDEN

    def variables(self) -> Mapping[str, str]:
        """Caches of its own, no other device."""
        return list_own_caches()

    def compiled(self, job: Job, progress: ProgressCallback | None = None) -> CrossCompilation:
        """Compile for a virtual GPU and return the record and the program.

        Raises what the compilation raised, and as `ask` does.
        """
        task = f"compile for {job.gpu.name}"
        answer: CrossCompilation = self.ask(job, task, progress, keeps_record=True)
        return answer

    def packaged(self, job: PackageJob, progress: ProgressCallback | None = None) -> CrossPackage:
        """Compile the library of a package for a virtual GPU.

        Raises what the compilation raised, and as `ask` does.
        """
        task = f"package for {job.gpu.name}"
        answer: CrossPackage = self.ask(job, task, progress, keeps_record=True)
        return answer

    def build(self, job: BuildJob, hear: Callable[[Built], object]) -> None:
        """Compile single kernels; `hear` is called with each as soon as it is done.

        Raises `WorkerEnded` when the worker ends, as some kernels make Triton's compiler do.
        """
        self.ask(job, "compile all kernels", hear=hear)


def keep_warm_worker() -> CrossCompiler:
    """The worker of this process, kept warm between compilations.

    The one thing here that outlives a call: starting a worker costs seconds, a job in a warm one
    less than one. A fork has its own, and so have other switches of Triton in the environment,
    which a process reads as it was started with them.
    """
    return _worker_of(os.getpid(), read_triton_switches())


@cache
def _worker_of(pid: int, switches: tuple[str, ...]) -> CrossCompiler:
    return CrossCompiler()


def build_all(
    builds: Iterable[Build],
    worker: CrossCompiler,
    progress: ProgressCallback | None = None,
    thing: str = "kernel",
    limit_s: float = inf,
    on_built: Callable[[Built], object] | None = None,
) -> Mapping[str, Built]:
    """Every build by its id, in order; one that ends the worker has a note instead of code.

    So has one that takes longer than `limit_s` seconds. `thing` is what one of them is called in a
    count; `on_built` is called with each as soon as it is done. Raises
    `CaptureError` when no worker can be started.
    """
    waiting = {build.id: build for build in builds}
    is_counted = listens_to_counts(progress)
    order, start = list(waiting), time.monotonic()
    by_id: dict[str, Built] = {}

    def hear(built: Built) -> None:
        waiting.pop(built.id, None)
        by_id[built.id] = built
        if on_built is not None:
            on_built(built)
        if is_counted:
            tell_count(progress, len(by_id), len(order), thing)
        elif progress is not None:
            progress(f"{built.id} ({len(by_id)} of {len(order)})", time.monotonic() - start)

    with step(progress if is_counted else None, "compiling with Triton"):
        tell_count(progress, 0, len(order), thing)
        _build_to_the_end(waiting, worker, hear, limit_s)
    return {id: by_id[id] for id in order}


def build_here(builds: Iterable[Build], limit_s: float) -> Mapping[str, Built]:
    """As `build_all`, in the worker of the process that is asked, such as one of an executor."""
    return build_all(builds, keep_warm_worker(), limit_s=limit_s)


def _build_to_the_end(
    waiting: Mapping[str, Build],
    worker: CrossCompiler,
    hear: Callable[[Built], object],
    limit_s: float,
) -> None:
    """Compile what waits until nothing does; `hear` takes each away."""
    at_once, late = 2, 0

    def hear_and_end(built: Built) -> None:
        nonlocal late
        hear(built)
        if built.is_late:  # Triton's compiler cannot be interrupted
            late += 1
            worker.kill()

    while waiting:
        worker.start()
        before = late
        job = BuildJob(tuple(waiting.values()), CallerContext.current(), at_once, limit_s)
        try:
            worker.build(job, hear_and_end)
        except WorkerEnded:
            if late > before:
                continue
            if at_once == 1:  # in order, so that the first without an answer is the one
                id = next(iter(waiting))
                died = "Triton's compiler crashed while it compiled this for"
                hear(Built(id, None, note=f"{died} {waiting[id].gpu.target}."))
            at_once = 1


def pack_job(request: CompileRequest, gpu: Gpu) -> Job:
    """What is sent to a worker, under the modes of torch of this thread.

    Raises `UsageError` for what cannot be asked of a virtual GPU or cannot be sent.
    """
    options = request.options
    _check(options, gpu)
    callee = resolve(request.target)
    refuse_hooks(callee.name, callee.module)
    there = replace(options, target="host")  # where the code runs, the GPU is the machine's own
    call = pack_call(replace(request, options=there), callee.name)
    context = CallerContext.current()
    cluster = find_cluster()
    return Job(Device(gpu), call, context, options.counts_eager, cluster)


def pack_call(request: CompileRequest, name: str) -> Forms:
    """A request and the modes of torch of this thread, tensors described only.

    Dynamo runs in the worker, on the function that arrives: only there may `torch.cuda` claim a
    device, so only there do `x.is_cuda`, autocast and attention take the branches of the target.
    Sending what Dynamo captured here would fix the branches of the user's own machine.

    Raises `UsageError` for what cannot be sent; `name` is that of the function.
    """
    parcel = {**vars(request), "state": TorchState.current()}
    packed, tensors = pack_described(parcel, name, _CURE)
    is_learning = tensors.has_grad and request.options.grad is not False
    if tensors.lost_backward is not None and is_learning:
        raise UsageError(
            f"The backward pass of {tensors.lost_backward} cannot be compiled for a virtual GPU, "
            "because torch cannot return functions registered with "
            "torch.library.register_autograd. Compile with grad=False, or define the operator with "
            "torch.library.custom_op."
        )
    return packed


def _check(options: CompileOptions, gpu: Gpu) -> None:
    if options.backend != "inductor":
        raise UsageError(
            f"target {gpu.name!r} needs backend 'inductor', because {options.backend_name!r} "
            "generates no GPU code. Leave the backend out, or compile with target='host'."
        )
    inductor, _ = merge_options(options.backend_name, options.mode, options.options)
    for name in ("cpp_wrapper", "aot_inductor.package_cpp_only"):
        if inductor.get(name):
            raise UsageError(
                f"{name} builds a C++ program with the CUDA toolkit, which a virtual "
                f"{gpu.device_name} does not have. Leave it out, or compile on a machine with the "
                "GPU."
            )

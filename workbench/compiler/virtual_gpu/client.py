"""The user's end of the worker that compiles for virtual GPUs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from workbench.compiler.virtual_gpu.build_messages import BuildJob, Built
from workbench.compiler.virtual_gpu.messages import CrossCompilation, Job
from workbench.processes.messages import ProgressCallback
from workbench.processes.worker import Worker
from workbench.report import Report
from workbench.settings import Settings

HIDDEN = ("TRITON_INTERPRET", "TRITON_CACHE_DIR", "TORCHINDUCTOR_FORCE_DISABLE_CACHES")


def own_caches() -> dict[str, str]:
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
    """A process that compiles for GPUs that are not here."""

    program = "workbench.compiler.virtual_gpu.worker"
    hidden = HIDDEN
    no_training: str | None = None
    """Why it cannot compile a backward pass."""

    def on_ready(self, value: Any) -> None:
        """Take what the worker says when it can be asked."""
        self.no_training = value

    def variables(self) -> Mapping[str, str]:
        """Caches of its own, no other device."""
        return own_caches()

    def compile(self, job: Job, progress: ProgressCallback | None = None) -> Report:
        """The record of `compiled`."""
        return self.compiled(job, progress).report

    def compiled(self, job: Job, progress: ProgressCallback | None = None) -> CrossCompilation:
        """Compile for a virtual GPU and return the record and the program.

        Raises what the compilation raised, and as `ask` does.
        """
        task = f"compile for {job.gpu.name}"
        found: CrossCompilation = self.ask(job, task, progress, keeps_record=True)
        return found

    def build(self, job: BuildJob, hear: Callable[[Built], object]) -> None:
        """Compile single kernels; `hear` is called with each as soon as it is done.

        Raises `WorkerEnded` when the worker ends, as some kernels make Triton's compiler do.
        """
        self.ask(job, "compile all kernels", hear=hear)


def warm_worker() -> CrossCompiler:
    """The worker of this process, kept warm between compilations.

    The one thing here that outlives a call: starting a worker costs seconds, a job in a warm one
    less than one. A fork has its own.
    """
    return _worker_of(os.getpid())


@cache
def _worker_of(pid: int) -> CrossCompiler:
    return CrossCompiler()

"""The user's end of compiling single kernels: asks the worker, and asks again where it died."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from workbench.compiler.virtual_gpu.build_messages import Build, BuildJob, Built
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.processes.caller_context import CallerContext
from workbench.processes.messages import ProgressCallback
from workbench.processes.worker import WorkerEnded


def build_all(
    builds: Iterable[Build], worker: CrossCompiler, progress: ProgressCallback | None = None
) -> Mapping[str, Built]:
    """Every build by its id, in order; one that ends the worker has a note instead of code.

    Raises `CaptureError` when no worker can be started.
    """
    waiting = {build.id: build for build in builds}
    order, start = list(waiting), time.monotonic()
    found: dict[str, Built] = {}

    def hear(built: Built) -> None:
        waiting.pop(built.id, None)
        found[built.id] = built
        if progress is not None:
            progress(f"{built.id} ({len(found)} of {len(order)})", time.monotonic() - start)

    at_once = 2
    while waiting:
        worker.start()
        try:
            worker.build(BuildJob(tuple(waiting.values()), CallerContext.current(), at_once), hear)
        except WorkerEnded:
            if at_once == 1:  # in order, so that the first without an answer is the one
                id = next(iter(waiting))
                hear(Built(id, None, note=_died(waiting[id])))
            at_once = 1
    return {id: found[id] for id in order}


def _died(build: Build) -> str:
    return f"Triton's compiler ended its process while it compiled this for {build.gpu.target}."

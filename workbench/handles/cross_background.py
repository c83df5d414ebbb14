"""A compilation for a virtual GPU in the background, by a worker that nobody else waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.compiler.contract.callables import resolve
from workbench.compiler.contract.request import CompileOptions
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.errors import UsageError
from workbench.handles.cross_compiled import CrossCompiled, job_for
from workbench.handles.job import START, Job
from workbench.handles.recipe import Recipe
from workbench.processes.background_task import Steps


def cross_compile_in_background(
    target: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: CompileOptions,
    recipe: Recipe,
    on_change: Callable[[], object] | None = None,
) -> Job[CrossCompiled]:
    """Start a worker, which ends with the job, and return at once."""
    gpu = options.gpu
    if gpu is None:
        raise UsageError(f"target is {options.target!r}, which is no virtual GPU.")
    sent = job_for(target, args, kwargs, options, gpu)  # as it is now, whatever changes later
    worker = CrossCompiler()
    worker.begin()

    def work(steps: Steps) -> CrossCompiled:
        try:
            steps(START, 0.0)
            worker.start()
            steps.end(START, 0.0)
            done = worker.compiled(sent, steps)
        finally:
            worker.close()
        made = CrossCompiled(done.report, gpu, target, done.program)
        made.recipe = recipe
        return made

    return Job(resolve(target).name, work, worker.retire, on_change)

"""A compilation for a virtual GPU in the background, by a worker that nobody else waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

from workbench.compiler.contract.callables import resolve
from workbench.compiler.contract.request import Options
from workbench.compiler.virtual_gpu.client import Worker
from workbench.errors import UsageError
from workbench.handles.cross_compiled import CompiledElsewhere, job_for
from workbench.handles.recipe import Recipe
from workbench.processes.background_task import Steps, ThreadJob

_START = "starting a worker"


class ElsewhereJob(ThreadJob[CompiledElsewhere]):
    """A running or ended compilation for a virtual GPU; `await` it, or ask for its `result`.

    Its worker is ended with it, so that `cancel` ends the compilers at once and the worker of
    other compilations stays free.
    """

    def __init__(
        self,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: Options,
        recipe: Recipe,
        on_change: Callable[[], object] | None = None,
    ):
        gpu = options.gpu
        if gpu is None:
            raise UsageError(f"target is {options.target!r}, which is no virtual GPU.")
        sent = job_for(target, args, kwargs, options, gpu)  # as it is now, whatever changes later
        self._worker = worker = Worker()
        worker.begin()

        def work(steps: Steps) -> CompiledElsewhere:
            try:
                steps(_START, 0.0)
                worker.start()
                steps.end(_START, 0.0)
                done = worker.compiled(sent, steps)
            finally:
                worker.close()
            made = CompiledElsewhere(done.report, gpu, target, done.program)
            made.recipe = recipe
            return made

        super().__init__(resolve(target).name, work, worker.retire)
        self.on_change = on_change

    def __repr__(self) -> str:
        return f"Job({self.name}, {self.progress['status']})"

    def cancel(self) -> bool:
        """End the worker and its compilers at once; False when it had ended before."""
        if not super().cancel():
            return False
        self._worker.retire()
        self.wait()
        return True

    def __await__(self) -> Generator[Any, None, CompiledElsewhere]:
        return asyncio.to_thread(self.result).__await__()

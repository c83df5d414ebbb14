"""The program of the process that compiles for virtual GPUs, one job after the other.

The hooks are loaded before torch is imported, which is why this module imports nothing of torch at
its top.
"""

from __future__ import annotations

import gc
import signal
import threading
from types import FrameType
from typing import TYPE_CHECKING

from workbench.compiler.internals.cpython_costs import collect_in_pauses, import_uncollected
from workbench.compiler.virtual_gpu.device import native_hooks
from workbench.processes.parent import Done, Parent
from workbench.settings import Settings

if TYPE_CHECKING:
    from workbench.compiler.virtual_gpu.kernel_choice import BuildJob
    from workbench.compiler.virtual_gpu.worker_messages import Job, PackageJob

_SIGNAL = signal.SIGUSR1


class Stoppable:
    """What runs in `with` ends with `KeyboardInterrupt` once `stop` is called; make it in main.

    A signal reaches the main thread also while it waits for a process such as the assembler.
    """

    def __init__(self) -> None:
        self._is_wanted = False
        self._is_running = False
        signal.signal(_SIGNAL, self._on_signal)

    def __enter__(self) -> None:
        self._is_running = True
        if self._is_wanted:  # asked for before there was anything to stop
            self._interrupt()

    def __exit__(self, /, *_: object) -> None:
        self._is_running = False

    def stop(self) -> None:
        """Interrupt what runs, or what will run next."""
        self._is_wanted = True
        main = threading.main_thread().ident
        if main is not None:
            signal.pthread_kill(main, _SIGNAL)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._is_running and self._is_wanted:
            self._interrupt()

    def _interrupt(self) -> None:
        self._is_running = self._is_wanted = False
        raise KeyboardInterrupt


def main(parent: Parent) -> None:
    """Serve the process at the other end until it goes away."""
    with parent.starting(), import_uncollected():
        no_training = native_hooks.load_before_torch(Settings.from_environment())
        from workbench.compiler.virtual_gpu.cross_compile import compile_job, import_compiler
        from workbench.compiler.virtual_gpu.gpu_library import run_package_job
        from workbench.compiler.virtual_gpu.kernel_builds import build_job
        from workbench.compiler.virtual_gpu.kernel_choice import BuildJob
        from workbench.compiler.virtual_gpu.worker_messages import PackageJob

        import_compiler()
    stoppable = Stoppable()
    parent.on_stop = stoppable.stop

    def answer(job: Job | BuildJob | PackageJob) -> object:
        if isinstance(job, PackageJob):
            return run_package_job(job, parent, stoppable)
        if isinstance(job, BuildJob):
            build_job(job, parent.send)
            return Done()
        return compile_job(job, parent, no_training, stoppable)

    parent.done()
    collect_in_pauses()
    parent.serve(answer, rest=gc.collect)

"""The program of the process that compiles for virtual GPUs, one job after the other.

The hooks are loaded before torch is imported, which is why this module imports nothing of torch at
its top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.compiler.virtual_gpu.device import native_hooks
from workbench.compiler.virtual_gpu.stopping import Stoppable
from workbench.processes.messages import Done
from workbench.processes.parent import Parent
from workbench.settings import Settings

if TYPE_CHECKING:
    from workbench.compiler.virtual_gpu.build_messages import BuildJob
    from workbench.compiler.virtual_gpu.messages import Job


def main(parent: Parent) -> None:
    """Serve the process at the other end until it goes away."""
    with parent.starting():
        no_training = native_hooks.load_before_torch(Settings.from_environment())
        from workbench.compiler.virtual_gpu.build_messages import BuildJob
        from workbench.compiler.virtual_gpu.building import build_job
        from workbench.compiler.virtual_gpu.compiling import compile_job, import_compiler

        import_compiler()
    stoppable = Stoppable()
    parent.on_stop = stoppable.stop

    def answer(job: Job | BuildJob) -> object:
        if isinstance(job, BuildJob):
            build_job(job, parent.send)
            return Done()
        return compile_job(job, parent, no_training, stoppable)

    parent.done(no_training)
    parent.serve(answer)

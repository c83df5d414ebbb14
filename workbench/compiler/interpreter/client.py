"""The user's end of the process that interprets kernels."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from functools import cache

from workbench.compiler.interpreter.messages import Define, Finished, Forget, Run, Stopped
from workbench.compiler.virtual_gpu.client import HIDDEN, own_caches
from workbench.processes.worker import Worker

RUN_S = 900.0


class Interpreter(Worker):
    """A process that runs kernels on the CPU; it is started by the first one."""

    program = "workbench.compiler.interpreter.worker"
    hidden = HIDDEN

    def __init__(self, *, start_s: float = 120.0, run_s: float = RUN_S):
        super().__init__(start_s=start_s, job_s=run_s)

    def variables(self) -> Mapping[str, str]:
        """Triton interprets in it, instead of compiling."""
        return {**own_caches(), "TRITON_INTERPRET": "1"}

    def define(self, kernel: Define) -> None:
        """Send a kernel; to another process where this one has ended meanwhile."""
        try:
            self.tell(kernel)
        except OSError:
            self.close()
            self.tell(kernel)

    def forget(self, message: Forget) -> None:
        """Let go of kernels and memory; a process that has ended has none."""
        if self.pid is not None:
            with contextlib.suppress(OSError):
                self.tell(message)

    def run(self, launch: Run, name: str) -> Finished | Stopped:
        """Run a kernel that was defined; raises `CaptureError` when the process ends."""
        found: Finished | Stopped = self.ask(launch, f"run the kernel {name}")
        return found


def warm_interpreter() -> Interpreter:
    """The interpreter of this process, kept warm: starting it costs seconds. A fork has its own."""
    return _interpreter_of(os.getpid())


@cache
def _interpreter_of(pid: int) -> Interpreter:
    return Interpreter()

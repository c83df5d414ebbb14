"""The user's end of the process that interprets kernels."""

from __future__ import annotations

import os
from functools import cache

from workbench.compiler.interpreter.messages import Define, Ended, Forget, Run
from workbench.compiler.virtual_gpu.client import Worker

RUN_S = 900.0


class Interpreter(Worker):
    """A process that runs kernels on the CPU; it is started by the first one."""

    program = "workbench.compiler.interpreter.worker"

    def __init__(self, *, start_s: float = 120.0, run_s: float = RUN_S):
        super().__init__(start_s=start_s, job_s=run_s)

    def variables(self) -> dict[str, str]:
        """The environment of the process: Triton interprets in it, instead of compiling."""
        return super().variables() | {"TRITON_INTERPRET": "1"}

    def tell(self, message: Define | Forget) -> None:
        """Send what has no answer; to another process where this one has ended meanwhile."""
        try:
            self._send(message)
        except OSError:
            self.close()
            if isinstance(message, Define):
                self._send(message)

    def _send(self, message: Define | Forget) -> None:
        self.start()
        with self._lock:
            self._connected.send(message)

    def run(self, launch: Run, name: str) -> Ended:
        """Run a kernel that was defined; raises `CaptureError` when the process ends."""
        return self._answer(launch, f"run the kernel {name}", None, Ended)


def warm_interpreter() -> Interpreter:
    """The interpreter of this process, kept warm: starting it costs seconds. A fork has its own."""
    return _interpreter_of(os.getpid())


@cache
def _interpreter_of(pid: int) -> Interpreter:
    return Interpreter()

"""The process that interprets kernels: it runs what it is sent until the other side goes away.

It is started with TRITON_INTERPRET=1, which Triton reads when it is imported, as
`python -c "… worker.main(FD)"` with one end of a socket pair.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from workbench.compiler.interpreter.messages import (
    Define,
    Finished,
    Forget,
    Run,
    SharedTensor,
    Started,
    Stopped,
)

if TYPE_CHECKING:
    from workbench.compiler.interpreter.triton.block_builder import BlockBuilder

IDLE_S = 1800.0
"""Seconds without a job after which the process ends, and gives its memory back."""

SLOW_START_S = 60.0


def main(descriptor: int, idle_s: float = IDLE_S) -> None:
    """Serve the process at the other end until it goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt in a terminal is for the user's own
    faulthandler.dump_traceback_later(SLOW_START_S)  # where it hangs, for the error of the parent
    connection = Connection(descriptor)
    from workbench.compiler.interpreter.triton.language import install

    served = _Served(install())
    faulthandler.cancel_dump_traceback_later()
    connection.send(Started())
    try:
        while connection.poll(idle_s):
            answer = served.answer(connection.recv())
            if answer is not None:
                connection.send(answer)
    except (EOFError, OSError):
        os._exit(0)  # nobody is left to answer


class _Served:
    """The kernels that were defined and the memory that was shared."""

    def __init__(self, builder: BlockBuilder):
        from workbench.compiler.interpreter.shared_memory import Mapped
        from workbench.compiler.interpreter.triton.kernels import InterpretedKernel

        self._builder = builder
        self._mapped = Mapped()
        self._kernels: dict[str, InterpretedKernel | Stopped] = {}

    def answer(self, message: object) -> Finished | Stopped | None:
        """Do what a message asks for; only a launch has an answer."""
        if isinstance(message, Define):
            self._define(message)
        elif isinstance(message, Run):
            return self._run(message)
        elif isinstance(message, Forget):
            self._mapped.forget(message.paths)
            for key in message.keys:
                self._kernels.pop(key, None)
        return None

    def _define(self, message: Define) -> None:
        from workbench.compiler.interpreter.triton.kernels import InterpretedKernel

        try:
            made = InterpretedKernel(message.name, message.source, self._builder)
        except Exception as error:  # its source is run, which may raise whatever Python can
            reason = f"cannot be defined: {type(error).__name__}: {error}"
            self._kernels[message.key] = Stopped(reason)
        else:
            self._kernels[message.key] = made

    def _run(self, message: Run) -> Finished | Stopped:
        from workbench.compiler.interpreter.triton.kernels import KernelFailure

        kernel = self._kernels[message.key]
        if isinstance(kernel, Stopped):
            return kernel
        args = [self._mapped.tensor(a) if isinstance(a, SharedTensor) else a for a in message.args]
        named = {
            name: self._mapped.tensor(value) if isinstance(value, SharedTensor) else value
            for name, value in message.named.items()
        }
        try:
            launch = kernel.run(args, named, message.grid)
        except KernelFailure as failure:
            return Stopped(str(failure))
        written = self._builder.memory.written([*args, *named.values()])
        return Finished(launch.config, launch.programs, written)

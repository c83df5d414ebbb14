"""The program of the process that interprets kernels.

It runs with TRITON_INTERPRET=1, which Triton reads when it is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.compiler.interpreter.messages import (
    Define,
    Finished,
    Forget,
    Run,
    SharedTensor,
    Stopped,
)
from workbench.processes.messages import Done
from workbench.processes.parent import Parent

if TYPE_CHECKING:
    from workbench.compiler.interpreter.triton.block_builder import BlockBuilder


def main(parent: Parent) -> None:
    """Serve the process at the other end until it goes away."""
    with parent.starting():
        from workbench.compiler.interpreter.triton.language import install

        served = _Served(install())
    parent.done()
    parent.serve(served.answer)


class _Served:
    """The kernels that were defined and the memory that was shared."""

    def __init__(self, builder: BlockBuilder):
        from workbench.compiler.interpreter.shared_memory import Mapped
        from workbench.compiler.interpreter.triton.kernels import InterpretedKernel

        self._builder = builder
        self._mapped = Mapped()
        self._kernels: dict[str, InterpretedKernel | Stopped] = {}

    def answer(self, message: object) -> Done | None:
        """Do what a message asks for; only a launch has an answer."""
        if isinstance(message, Define):
            self._define(message)
        elif isinstance(message, Run):
            return Done(self._run(message))
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

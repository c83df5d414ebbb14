"""The program of the process that interprets kernels.

It runs with TRITON_INTERPRET=1, which Triton reads when it is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.compiler.interpreter import exchange
from workbench.processes.messages import Done
from workbench.processes.parent import Parent

if TYPE_CHECKING:
    from workbench.compiler.interpreter.triton.batched_builder import BatchedBuilder


def main(parent: Parent) -> None:
    """Serve the process at the other end until it goes away."""
    with parent.starting():
        from workbench.compiler.interpreter.triton.language import install

        served = _Served(install())
    parent.done()
    parent.serve(served.answer)


class _Served:
    """The kernels that were defined and the memory that was shared."""

    def __init__(self, builder: BatchedBuilder):
        from workbench.compiler.interpreter.triton.kernels import InterpretedKernel

        self._builder = builder
        self._mapped = exchange.Mapped()
        self._kernels: dict[str, InterpretedKernel | exchange.Stopped] = {}

    def answer(self, message: object) -> Done | None:
        """Do what a message asks for; only a launch has an answer."""
        if isinstance(message, exchange.Define):
            self._define(message)
        elif isinstance(message, exchange.Run):
            return Done(self._run(message))
        elif isinstance(message, exchange.Forget):
            self._mapped.forget(message.paths)
            for key in message.keys:
                self._kernels.pop(key, None)
        return None

    def _define(self, message: exchange.Define) -> None:
        from workbench.compiler.interpreter.triton.kernels import InterpretedKernel

        kernel: InterpretedKernel | exchange.Stopped
        try:
            kernel = InterpretedKernel(message.name, message.source, self._builder)
        except Exception as error:  # its source is run, which may raise whatever Python can
            kernel = exchange.Stopped(f"cannot be defined: {type(error).__name__}: {error}")
        self._kernels[message.key] = kernel

    def _here(self, value: Any) -> Any:
        return self._mapped.tensor(value) if isinstance(value, exchange.SharedTensor) else value

    def _run(self, message: exchange.Run) -> exchange.Finished | exchange.Stopped:
        from workbench.compiler.interpreter.triton.kernels import KernelFailure

        kernel = self._kernels[message.key]
        if isinstance(kernel, exchange.Stopped):
            return kernel
        args = [self._here(value) for value in message.args]
        named = {name: self._here(value) for name, value in message.named.items()}
        try:
            config, programs = kernel.run(args, named, message.grid)
        except KernelFailure as failure:
            return exchange.Stopped(str(failure))
        return exchange.Finished(
            config, programs, self._builder.memory.written([*args, *named.values()])
        )

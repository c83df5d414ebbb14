"""The program of the process that interprets kernels.

It runs with TRITON_INTERPRET=1, which Triton reads when it is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.compiler.interpreter import interpreter_messages
from workbench.compiler.interpreter.watched.watched_call import Watch, Watched
from workbench.errors import WorkbenchError, describe_error
from workbench.processes.parent import Done, Failed, Parent

if TYPE_CHECKING:
    from workbench.compiler.interpreter.triton.triton_kernels import BatchedBuilder


def main(parent: Parent) -> None:
    """Serve the process at the other end until it goes away."""
    with parent.starting():
        from workbench.compiler.interpreter.triton.triton_kernels import install

        served = _Served(install())
    parent.done()
    parent.serve(served.answer)


class _Served:
    """The kernels that were defined and the memory that was shared."""

    def __init__(self, builder: BatchedBuilder):
        from workbench.compiler.interpreter.triton.triton_kernels import InterpretedKernel

        self._builder = builder
        self._mapped = interpreter_messages.Mapped()
        self._kernels: dict[str, InterpretedKernel | interpreter_messages.Stopped] = {}

    def answer(self, message: object) -> Done | Failed | None:
        """Do what a message asks for; a launch has an answer, and so has a call under watch."""
        if isinstance(message, interpreter_messages.Define):
            self._define(message)
        elif isinstance(message, interpreter_messages.Run):
            return Done(self._run(message))
        elif isinstance(message, Watch):
            return self._watch(message)
        elif isinstance(message, interpreter_messages.Forget):
            self._mapped.forget(message.paths)
            for key in message.keys:
                self._kernels.pop(key, None)
        return None

    def _define(self, message: interpreter_messages.Define) -> None:
        from workbench.compiler.interpreter.triton.triton_kernels import InterpretedKernel

        kernel: InterpretedKernel | interpreter_messages.Stopped
        try:
            kernel = InterpretedKernel(message.name, message.source, self._builder)
        except Exception as error:  # its source is run, which may raise whatever Python can
            kernel = interpreter_messages.Stopped(f"cannot be defined: {describe_error(error)}")
        self._kernels[message.key] = kernel

    def _watch(self, message: Watch) -> Done | Failed:
        from workbench.compiler.interpreter.watched.watched_run import watch_call

        plain = interpreter_messages.IN_FLOAT32
        self._builder.choose_products(plain.default, plain.allowed, has_tf32=False)
        self._builder.hear_assertions()
        try:
            return Done(watch_call(message, self._builder))
        except WorkbenchError as error:
            return Failed.of(error)

    def _here(self, value: Any) -> Any:
        return (
            self._mapped.tensor(value)
            if isinstance(value, interpreter_messages.SharedTensor)
            else value
        )

    def _run(
        self, message: interpreter_messages.Run
    ) -> interpreter_messages.Finished | interpreter_messages.Stopped:
        from workbench.compiler.interpreter.triton.triton_kernels import KernelFailure

        kernel = self._kernels[message.key]
        if isinstance(kernel, interpreter_messages.Stopped):
            return kernel
        args = [self._here(value) for value in message.args]
        named = {name: self._here(value) for name, value in message.named.items()}
        products = message.products
        self._builder.choose_products(
            products.default, products.allowed, has_tf32=products.has_tf32
        )
        watched: list[Watched] = []

        def watch(function: Any, arguments: Mapping[str, Any], grid: tuple[int, int, int]) -> None:
            from workbench.compiler.interpreter.watched.watched_run import watch_kernel

            watched.append(
                watch_kernel(self._builder, function, arguments, grid, seconds=message.watch_s)
            )

        try:
            config, programs = kernel.run(
                args, named, message.grid, watch if message.watch_s else None
            )
        except KernelFailure as failure:
            return interpreter_messages.Stopped(str(failure), *watched)
        return interpreter_messages.Finished(
            config, programs, self._builder.memory.written([*args, *named.values()]), *watched
        )

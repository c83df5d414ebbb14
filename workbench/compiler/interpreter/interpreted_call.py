"""One call of a program for a GPU, run on the CPU for whoever looks inside, again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import copy_inputs, copy_written
from workbench.compiler.captured_graphs.program_parts import Program
from workbench.compiler.interpreter import serialized_function
from workbench.compiler.interpreter.gpu_program import extract_kernel_sources, run_on_cpu
from workbench.compiler.interpreter.interpreter_messages import IN_FLOAT32, Arena, Products
from workbench.compiler.interpreter.interpreter_session import (
    Before,
    Edit,
    KernelFailed,
    Learn,
    Observe,
    Session,
    keep_warm_interpreter,
)
from workbench.compiler.request.callables import Callee


@dataclass
class InterpretedCall:
    """A program for a GPU with what its graphs were given in one call on the CPU.

    `inputs` and `outputs` are those of the graph that Dynamo captured, `written` the
    inputs that it changed, as it left them, by their places, `given` those of the generated
    programs: of the forward, and of the backward where it was run. `sources` are those of
    the Triton kernels by the names of their functions. `edit` changes them before they run. With
    `watch_s` every launch is run under watch before, for so many seconds at most: `learn` is told
    what it showed, and nothing keeps it, as its log may have 100 MB.
    """

    program: Program
    callee: Callee
    products: Products = IN_FLOAT32
    edit: Edit | None = None
    watch_s: float = 0.0
    learn: Learn | None = None
    inputs: tuple[Any, ...] = ()
    outputs: Any = None
    written: Mapping[int, torch.Tensor] = field(default_factory=dict)
    given: list[list[Any]] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    _graphs: list[Any] = field(default_factory=list)

    def run(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        finish: Callable[[Any], object] = lambda output: None,
        observer: Observe | None = None,
    ) -> None:
        """Call it once on the CPU and keep what its graphs are given.

        `observer` is told what each step of the forward was given.
        `finish` is given what it returns and may run the backward. Raises `ContractError` for a
        call that does not fit, `KernelFailed` for a kernel that cannot be run to its end.
        """
        serialized_function.refuse_misfit(self.callee, args, kwargs)
        serialized_function.refuse_unfit(self.program, self.callee, args, kwargs)

        def start(graph: Any, is_backward: bool) -> serialized_function.GraphCall:
            def call(inputs: list[Any]) -> Any:
                self._graphs.append(graph)
                self.sources.update(extract_kernel_sources(graph.source_code))
                self.given.append(copy_inputs(inputs))
                session.observer = None if is_backward else observer
                return self._load(graph, session).call(inputs)

            return call

        def watch(real: Callable[..., Any]) -> Callable[..., Any]:
            def called(*inputs: Any) -> Any:
                self.inputs = tuple(copy_inputs(list(inputs)))
                self.outputs = real(*inputs)
                self.written = copy_written(self.inputs, inputs)
                return self.outputs

            return called

        grad_mode = serialized_function.grad_mode(self.program.contract)
        with self._open() as session, grad_mode, torch.autocast("cpu", enabled=False):
            parts = serialized_function.GraphParts(start)
            finish(
                serialized_function.make_callable_here(
                    self.program.serialized, self.program.contract, self.callee, parts, watch
                )(*args, **kwargs)
            )
            self.outputs = _copied(self.outputs)

    def observe(self, observer: Observe, number: int = 0, before: Before | None = None) -> Any:
        """Run the forward (0) or the backward (1) again, and tell what each step was given.

        `before` is told of each kernel before it runs. Returns what it returns.
        """
        with self._open() as session, torch.no_grad(), torch.autocast("cpu", enabled=False):
            module = self._load(self._graphs[number], session)
            session.observer, session.before = observer, before
            return _copied(module.call(copy_inputs(self.given[number])))

    def launch(self, name: str, grid: tuple[int, int, int], given: Mapping[str, Any]) -> None:
        """Run a Triton kernel of the user by itself; raises `KernelFailed`."""
        if name not in self.sources:
            raise KernelFailed(name, "is not in the program, so its source is unknown")
        with self._open() as session:
            session.unedited(name, self.sources[name], name).run_on(grid, given)

    @contextmanager
    def _open(self) -> Iterator[Session]:
        interpreter = keep_warm_interpreter()
        with (
            Arena() as arena,
            closing(Session(interpreter, arena, self.edit, self.products, self.watch_s)) as session,
        ):
            session.learn = self.learn
            yield session

    def _load(self, graph: Any, session: Session) -> Any:
        constants = serialized_function.list_constants(graph)
        return run_on_cpu(graph.source_code, graph.cache_key, session, constants)


def _copied(value: Any) -> Any:
    """The same values in memory that outlives the arena of the program."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return type(value)(map(_copied, value)) if type(value) in (tuple, list) else value

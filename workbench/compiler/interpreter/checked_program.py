"""The generated program of a GPU and its captured graphs, made callable on the CPU and compared."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import copy_inputs
from workbench.compiler.captured_graphs.captured import CapturedGraph
from workbench.compiler.captured_graphs.program_parts import Program
from workbench.compiler.comparison.judgement import Again, Dice, InDouble, Tolerance, follow
from workbench.compiler.comparison.output_comparison import KernelComparison
from workbench.compiler.interpreter import buffer_checks, serialized_function
from workbench.compiler.interpreter.gpu_program import (
    extract_kernel_sources,
    restride,
    run_on_cpu,
)
from workbench.compiler.interpreter.interpreter_session import (
    PROGRAMS,
    Edit,
    KernelFailed,
    Session,
)
from workbench.compiler.interpreter.random_draws import Draws, DrawsDifferError, read_drawing
from workbench.compiler.interpreter.reference import GraphRunner
from workbench.compiler.request.callables import Callee
from workbench.errors import UsageError, WorkbenchError

OTHER_REFERENCE = "Pass a reference: verify(x, args, reference=function)."
_NO_GRAPH_RUN = f"Leave out per_kernel. {OTHER_REFERENCE}"


@dataclass(frozen=True)
class Peers:
    """What other ranks have to do with one program, whose graphs send: nothing, of one alone.

    With `are_there` the graph is run in double precision before it is known whether that is asked
    for, as every rank has to. `apart` is entered around runs of graphs, `tell` given each row when
    it is made.
    """

    are_there: bool = False
    apart: Callable[[], AbstractContextManager[None]] = nullcontext
    tell: Callable[[KernelComparison], object] = lambda row: None


_NO_DOUBLE = (RuntimeError, TypeError, ValueError, NotImplementedError)
"""What operators raise that have no form in double precision."""


@dataclass
class CheckedProgram:
    """A program on the CPU: kernels by the interpreter, with `per_kernel` each compared.

    `edit` changes sources before they run.
    """

    program: Program
    callee: Callee
    session: Session
    tolerance: Tolerance
    per_kernel: bool = False
    float64: bool = False
    edit: Edit | None = None
    peers: Peers = field(default_factory=Peers)
    sources: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pickled = self.program.graphs
        self.graphs: tuple[CapturedGraph, ...] = pickle.loads(pickled) if pickled else ()
        self._checkers: list[buffer_checks.Checker] = []

    @property
    def kernels(self) -> list[KernelComparison]:
        """What was compared in all calls until now, in the order of the program."""
        return [row for checker in self._checkers for row in checker.rows]

    def generated(self) -> Callable[..., Any]:
        """The function with its generated programs; raises `UsageError` where it has none."""
        return self._callable(self._start)

    def captured(self, draws: Draws, *, as_there: bool = False) -> Callable[..., Any]:
        """The function with its captured graphs in place of the generated programs.

        Operators of the CPU may lay out what they give otherwise than those of the device: with
        `as_there` the outputs of the graphs have the strides that they have there.
        """

        def start(compiled: Any, is_backward: bool) -> serialized_function.GraphCall:
            graph = self._graph(is_backward)
            if graph is None:
                raise UsageError("The captured graph of the program was not kept.")
            runner = self._runner(compiled, float64=False, draws=draws)

            def call(inputs: list[Any]) -> Any:
                arguments = list(inputs)
                inputs.clear()
                with reword_errors(f"The captured graph of {self.callee.name}", _NO_GRAPH_RUN):
                    output = runner.run(graph, arguments)[0]
                return _laid_out(output, graph.strides) if as_there else output

            return call

        return self._callable(start)

    def _callable(
        self, start: Callable[[Any, bool], serialized_function.GraphCall]
    ) -> Callable[..., Any]:
        return serialized_function.make_callable_here(
            self.program.serialized,
            self.program.contract,
            self.callee,
            serialized_function.GraphParts(start),
        )

    def _runner(self, compiled: Any, *, float64: bool, draws: Draws | None = None) -> GraphRunner:
        sources = extract_kernel_sources(compiled.source_code)

        def launch(graph: CapturedGraph, kwargs: Mapping[str, Any]) -> None:
            kernel = graph.kernels[kwargs["kernel_idx"], kwargs["constant_args_idx"]]
            interpreted = self.session.unedited(kernel.name, sources[kernel.name], kernel.name)
            x, y, z, *_ = (*map(int, kwargs["grid"][0]), 1, 1)
            interpreted.run_on((x, y, z), {**kernel.constants, **kwargs["kwargs"]})

        return GraphRunner(
            float64=float64,
            launch=launch,
            drawing=read_drawing(compiled.source_code),
            on_draw=None if draws is None else draws.note,
        )

    def _graph(self, is_backward: bool) -> CapturedGraph | None:
        graphs = [graph for graph in self.graphs if graph.is_backward == is_backward]
        return graphs[-1] if graphs else None

    def _start(self, graph: Any, is_backward: bool) -> serialized_function.GraphCall:
        source = graph.source_code
        self.sources.update(extract_kernel_sources(source))
        if self.edit is not None:
            source = self.edit(PROGRAMS[is_backward], source)
        module = run_on_cpu(
            source, graph.cache_key, self.session, serialized_function.list_constants(graph)
        )
        call: serialized_function.GraphCall = module.call
        if not self.per_kernel:
            return call
        captured = self._graph(is_backward)
        if captured is None:
            raise UsageError(
                f"The kernels of {self.callee.name} cannot be compared one by one, because their "
                f"graph was not kept ({self.program.no_graphs}). Verify without per_kernel."
            )
        return self._checked(call, captured, graph)

    def _checked(
        self, call: serialized_function.GraphCall, graph: CapturedGraph, compiled: Any
    ) -> serialized_function.GraphCall:
        session, peers, nodes = self.session, self.peers, buffer_checks.select_wanted_nodes(graph)

        def run_graph(
            inputs: list[Any], state: torch.Tensor, *, float64: bool
        ) -> Mapping[str, Any]:
            runner = self._runner(compiled, float64=float64)
            with torch.random.fork_rng(), torch.no_grad(), peers.apart():
                torch.random.set_rng_state(state)
                return runner.run(graph, inputs, nodes)[1]

        def checked(inputs: list[Any]) -> Any:
            once, again = copy_inputs(inputs), copy_inputs(inputs)
            before = buffer_checks.written_inputs(graph, inputs)
            state = torch.random.get_rng_state()
            values = run_graph(once, state, float64=self.float64)

            def run_exact(float64: bool) -> Mapping[str, Any]:
                return run_graph(copy_inputs(again), state, float64=float64)

            checker = buffer_checks.Checker(
                graph,
                values,
                replace(self.tolerance, float64=self.float64),
                self._run_again(run_exact),
                is_alone=not peers.are_there,
                drawing=read_drawing(compiled.source_code),
                before=before,
            )
            self._checkers.append(checker)

            def observe(
                step: str, variables: Mapping[str, Any], written: frozenset[int] | None
            ) -> None:
                row_count = len(checker.rows)
                checker(step, variables, written)
                for row in checker.rows[row_count:]:
                    peers.tell(row)

            session.observer = observe
            try:
                return call(inputs)
            finally:
                session.observer = None

        return checked

    def _run_again(self, run: Callable[[bool], Mapping[str, Any]]) -> Again:
        """The values of a graph in double precision, with True, and as decisions are otherwise.

        A kernel's floats are held to the largest error of eager, not to other roundings.
        """

        def run_wide() -> InDouble:
            try:
                return InDouble(run(True))
            except _NO_DOUBLE:
                return InDouble()

        of_all = run_wide() if self.peers.are_there else None  # each run is one of all ranks

        def run_again(dice: Dice | None) -> InDouble:
            if dice is None:
                return of_all or run_wide()
            if of_all is not None or not (dice.decisions or dice.orders):
                return InDouble()
            return follow(lambda: run(self.float64))(dice)

        return run_again


def _laid_out(output: Any, strides: Sequence[tuple[int, ...] | None]) -> Any:
    """The outputs of a graph with these strides; views and inputs are replayed from elsewhere."""
    if len(strides) != len(output):
        return output
    return tuple(
        part
        if stride is None or not isinstance(part, torch.Tensor)
        else restride(part, part.shape, stride)
        for part, stride in zip(output, strides, strict=True)
    )


class NotHere(UsageError):
    """What cannot be run on the CPU, and why."""


@contextmanager
def reword_errors(what: str, cure: str) -> Iterator[None]:
    """Raise `NotHere` for what a library, or the user's code, raises on the CPU."""
    try:
        yield
    except (WorkbenchError, KernelFailed, DrawsDifferError):
        raise
    except Exception as error:
        words = str(error).strip().partition("\n")[0].partition(". ")[0] or type(error).__name__
        raise NotHere(f"{what} cannot be run on the CPU ({words}). {cure}") from error

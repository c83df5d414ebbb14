"""Runs a program that was compiled for a GPU on the CPU and compares it with its original."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.aot_files.program import NoProgram, Program
from workbench.compiler.contract.callables import Callee, resolve
from workbench.compiler.contract.paths import Path, leaves
from workbench.compiler.interpreter import calling, checking, outcomes
from workbench.compiler.interpreter.device_operators import RANDOM
from workbench.compiler.interpreter.drawing import drawing_of
from workbench.compiler.interpreter.exchange import Arena
from workbench.compiler.interpreter.program import kernel_sources, on_cpu
from workbench.compiler.interpreter.reference import GraphRunner
from workbench.compiler.interpreter.session import (
    PROGRAMS,
    Edit,
    Interpreter,
    KernelFailed,
    Session,
    warm_interpreter,
)
from workbench.compiler.measuring.output_comparison import (
    Comparison,
    KernelComparison,
    Verification,
)
from workbench.compiler.virtual_gpu.captured import CapturedGraph
from workbench.errors import UsageError, WorkbenchError

NOT_MODELLED = (
    "Races between programs, the rounding of TF32, TMA, warps and the limits of shared memory are "
    "not modelled."
)


@dataclass(frozen=True)
class Question:
    """What is to be verified, and how."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    reference: Callable[..., Any] | None = None
    per_kernel: bool = False
    float64: bool = False
    tolerance: checking.Tolerance = field(default_factory=checking.Tolerance)
    edit: Edit | None = None


def verify_program(
    program: Program | NoProgram,
    original: Any,
    question: Question,
    interpreter: Interpreter | None = None,
) -> Verification:
    """Run the whole program through Triton's interpreter and compare what it gives.

    The reference is the original, run eagerly on the CPU; the captured graph instead where the
    program draws random numbers or launches Triton kernels of the user (both with the same seeds),
    and in double precision with `float64`. Raises `UsageError` when the program cannot be run,
    `ContractError` when the call does not fit.
    """
    if isinstance(program, NoProgram):
        raise UsageError(f"The generated program cannot be run here: {program.reason}")
    callee = resolve(original)
    calling.refuse_misfit(callee, question.args, question.kwargs)
    _refuse_meta(callee, question)
    interpreter = interpreter or warm_interpreter()
    interpreter.begin()  # it imports torch while the reference runs
    with Arena() as arena, closing(Session(interpreter, arena, question.edit)) as session:
        return _Verifier(program, callee, question, session).verified()


def _refuse_meta(callee: Callee, question: Question) -> None:
    tensors = [(f"a tensor of {callee.name}", t) for t in calling.tensors_of(callee.module)]
    for path, leaf in leaves((question.args, dict(question.kwargs)), Path("call")):
        tensors += [(str(path), leaf)] if isinstance(leaf, torch.Tensor) else []
    for name, tensor in tensors:
        if tensor.is_meta or type(tensor).__name__ == "FakeTensor":
            raise UsageError(
                f"{name} has no data, so nothing can be computed with it. Verify with tensors on "
                "the CPU: fill the module, and pass inputs that hold numbers."
            )


_NO_GRAPH = (
    "The captured graph was not kept ({}): random numbers are not drawn from the same seeds as the "
    "reference's, and a difference has no second opinion in double precision."
)
_OTHER_REFERENCE = "Pass what to compare with: verify(x, args, reference=function)."
_NO_GRAPH_RUN = f"Leave out float64. {_OTHER_REFERENCE}"
_ON_A_GPU = "Where it calls what only a GPU has, compare on one, or compile for 'host'."
_AUTOCAST = (
    "Autocast for {} is of one device: on the CPU the original does not compute what it computes "
    "on the GPU."
)


class _Verifier:
    """One verification."""

    def __init__(self, program: Program, callee: Callee, question: Question, session: Session):
        self._program = program
        self._callee = callee
        self._question = question
        self._session = session
        self._graphs: tuple[CapturedGraph, ...] = (
            pickle.loads(program.graphs) if program.graphs else ()
        )
        self._inputs = outcomes.Inputs(
            question.args, question.kwargs, callee.module, program.contract
        )
        self._checkers: list[checking.Checker] = []
        self._notes: tuple[str, ...] = ()

    def verified(self) -> Verification:
        name, reference = self._reference()
        regions_of = calling.autocast_regions(self._program.contract)
        with _said(name, _OTHER_REFERENCE), regions_of as regions:
            expected = outcomes.run(reference, self._inputs)
        self._notes = tuple(_AUTOCAST.format(kind) for kind in regions)
        if reference == self._eager and regions:
            name, reference = self._graph_as_reference(f"autocast for {' and '.join(regions)}")
            expected = self._run_without_autocast(reference)
        try:
            with _said(f"The generated program of {self._callee.name}", _ON_A_GPU):
                actual = self._run_without_autocast(self._callable(self._start))
        except KernelFailed as failure:
            return self._verification(name, (), [checking.failed(failure.kernel, str(failure))])
        rows = self._rows(expected, actual, is_original=reference == self._eager)
        return self._verification(name, rows)

    def _run_without_autocast(self, function: Callable[..., Any]) -> outcomes.Outcome:
        """Graphs have their casts already, those of the device."""
        with torch.autocast("cpu", enabled=False):
            return outcomes.run(function, self._inputs)

    def _rows(
        self, expected: outcomes.Outcome, actual: outcomes.Outcome, *, is_original: bool
    ) -> tuple[Comparison, ...]:
        question = self._question
        sides = list(outcomes.pairs(self._inputs, expected, actual))
        rows = [
            outcomes.compared(pair, question.tolerance, float64=question.float64) for pair in sides
        ]
        if all(row.ok for row in rows) or not is_original or not self._graphs:
            return tuple(rows)
        try:
            wide = self._run_without_autocast(self._captured(float64=True))
        except UsageError:  # there is no second opinion
            return tuple(rows)
        exact = {name: value for name, _, value in outcomes.pairs(self._inputs, expected, wide)}
        return tuple(
            row if row.ok else checking.settled(row, pair, exact.get(pair[0]))
            for row, pair in zip(rows, sides, strict=True)
        )

    def _verification(
        self, name: str, rows: tuple[Comparison, ...], stopped: Sequence[KernelComparison] = ()
    ) -> Verification:
        kernels = [row for checker in self._checkers for row in checker.rows]
        configs = ", ".join(f"{k} ({v})" for k, v in self._session.configs.items() if v)
        ran = (f"One configuration of each kernel was run: {configs}.",) if configs else ()
        lost = () if self._graphs else (_NO_GRAPH.format(self._program.no_graphs),)
        return Verification(
            rows, name, (*kernels, *stopped), (NOT_MODELLED, *self._notes, *ran, *lost)
        )

    def _reference(self) -> tuple[str, Callable[..., Any]]:
        """A name for the reference, and what is called."""
        question, callee = self._question, self._callee
        if question.reference is not None:
            found = question.reference
            return getattr(found, "__name__", type(found).__name__), found
        targets = set().union(*(graph.targets for graph in self._graphs))
        why = (
            "float64" if question.float64
            else "the same seeds" if targets & set(RANDOM)
            else "its Triton kernels interpreted" if any(g.kernels for g in self._graphs)
            else None
        )  # fmt: skip
        return (callee.name, self._eager) if why is None else self._graph_as_reference(why)

    def _graph_as_reference(self, why: str) -> tuple[str, Callable[..., Any]]:
        name = self._callee.name
        if not self._graphs:
            raise UsageError(
                f"{name} has to be compared with its captured graph ({why}), which was not kept "
                f"({self._program.no_graphs}). Pass another: verify(x, args, reference=function)."
            )
        return f"the captured graph of {name} ({why})", self._captured(
            float64=self._question.float64
        )

    def _captured(self, *, float64: bool) -> Callable[..., Any]:
        """The function with its captured graphs in place of the generated programs."""

        def start(compiled: Any, is_backward: bool) -> calling.GraphCall:
            graph = self._graph(is_backward)
            if graph is None:
                raise UsageError("The captured graph of the program was not kept.")
            runner = self._runner(compiled, float64=float64)

            def call(inputs: list[Any]) -> Any:
                given = list(inputs)
                inputs.clear()
                with _said(f"The captured graph of {self._callee.name}", _NO_GRAPH_RUN):
                    return runner.run(graph, given)[0]

            return call

        return self._callable(start)

    def _runner(self, compiled: Any, *, float64: bool) -> GraphRunner:
        sources = kernel_sources(compiled.source_code)

        def launch(graph: CapturedGraph, kwargs: Mapping[str, Any]) -> None:
            kernel = graph.kernels[kwargs["kernel_idx"], kwargs["constant_args_idx"]]
            made = self._session.unedited(kernel.name, sources[kernel.name], kernel.name)
            x, y, z, *_ = (*map(int, kwargs["grid"][0]), 1, 1)
            made.run_on((x, y, z), {**kernel.constants, **kwargs["kwargs"]})

        return GraphRunner(float64=float64, launch=launch, drawing=drawing_of(compiled.source_code))

    def _eager(self, *args: Any, **kwargs: Any) -> Any:
        return self._callee.entry(*args, **kwargs)

    def _graph(self, is_backward: bool) -> CapturedGraph | None:
        found = [graph for graph in self._graphs if graph.is_backward == is_backward]
        return found[-1] if found else None

    def _start(self, graph: Any, is_backward: bool) -> calling.GraphCall:
        source, edit = graph.source_code, self._question.edit
        if edit is not None:
            source = edit(PROGRAMS[is_backward], source)
        module = on_cpu(source, graph.cache_key, self._session, calling.constants_of(graph))
        call: calling.GraphCall = module.call
        if not self._question.per_kernel:
            return call
        captured = self._graph(is_backward)
        if captured is None:
            raise UsageError(
                f"The kernels of {self._callee.name} cannot be compared one by one: the graph "
                f"they were made from was not kept ({self._program.no_graphs}). Verify without "
                "per_kernel."
            )
        return self._checked(call, captured, graph)

    def _checked(
        self, call: calling.GraphCall, graph: CapturedGraph, compiled: Any
    ) -> calling.GraphCall:
        question, session = self._question, self._session
        runner = self._runner(compiled, float64=question.float64)

        def checked(inputs: list[Any]) -> Any:
            given, again = outcomes.copied_inputs(inputs), outcomes.copied_inputs(inputs)
            state = torch.random.get_rng_state()

            def in_double() -> Mapping[str, Any]:
                wide = self._runner(compiled, float64=True)
                with torch.random.fork_rng(), torch.no_grad():
                    torch.random.set_rng_state(state)
                    return wide.run(graph, again, checking.wanted_nodes(graph))[1]

            with torch.random.fork_rng(), torch.no_grad():
                _, values = runner.run(graph, given, checking.wanted_nodes(graph))
            checker = checking.Checker(
                graph, values, question.tolerance, in_double, float64=question.float64,
                drawing=drawing_of(compiled.source_code),
            )  # fmt: skip
            self._checkers.append(checker)
            session.observer = checker
            try:
                return call(inputs)
            finally:
                session.observer = None

        return checked

    def _callable(self, start: Callable[[Any, bool], calling.GraphCall]) -> Callable[..., Any]:
        program = self._program
        return calling.callable_here(
            program.serialized, program.contract, self._callee, calling.GraphParts(start)
        )


@contextmanager
def _said(what: str, cure: str) -> Iterator[None]:
    """Raise `UsageError` for what a library, or the user's code, raises on the CPU."""
    try:
        yield
    except (WorkbenchError, KernelFailed):
        raise
    except Exception as error:
        words = str(error).strip().partition("\n")[0].partition(". ")[0] or type(error).__name__
        raise UsageError(f"{what} cannot be run on the CPU ({words}). {cure}") from error

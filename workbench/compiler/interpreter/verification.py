"""Runs a program that was compiled for a GPU on the CPU and compares it with its original."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import STRIDES
from workbench.compiler.call_state.random_states import TORCH_RANDOM
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.captured_graphs.program_parts import NoProgram, Program
from workbench.compiler.comparison.judgement import (
    Judge,
    Tolerance,
    make_failed_row,
    overflows_alone,
    say_overflow,
)
from workbench.compiler.comparison.output_comparison import (
    Comparison,
    KernelComparison,
    Verification,
    report_not_checked,
)
from workbench.compiler.comparison.trial import (
    Dice,
    DoublePrecision,
    Effects,
    InDouble,
    Subject,
    UnusedElements,
    follow_in_double,
    form_pairs,
    pairs,
    subject_of,
)
from workbench.compiler.interpreter import serialized_function
from workbench.compiler.interpreter.buffer_checks import UNDECIDED as UNDECIDED
from workbench.compiler.interpreter.buffer_checks import report_failed as report_failed
from workbench.compiler.interpreter.checked_program import OTHER_REFERENCE, NotHere
from workbench.compiler.interpreter.checked_program import CheckedProgram as CheckedProgram
from workbench.compiler.interpreter.checked_program import Peers as Peers
from workbench.compiler.interpreter.checked_program import reword_errors as reword_errors
from workbench.compiler.interpreter.interpreted_call import InterpretedCall as InterpretedCall
from workbench.compiler.interpreter.interpreter_messages import Arena as Arena
from workbench.compiler.interpreter.interpreter_messages import Products as Products
from workbench.compiler.interpreter.interpreter_session import Before as Before
from workbench.compiler.interpreter.interpreter_session import Edit as Edit
from workbench.compiler.interpreter.interpreter_session import Interpreter
from workbench.compiler.interpreter.interpreter_session import KernelFailed as KernelFailed
from workbench.compiler.interpreter.interpreter_session import RepeatedLaunches as RepeatedLaunches
from workbench.compiler.interpreter.interpreter_session import Session as Session
from workbench.compiler.interpreter.interpreter_session import (
    keep_warm_interpreter as keep_warm_interpreter,
)
from workbench.compiler.interpreter.original import (
    has_device_operators,
    run_what_only_a_gpu_has,
)
from workbench.compiler.interpreter.original import (
    interpret_users_kernels as interpret_users_kernels,
)
from workbench.compiler.interpreter.random_draws import (
    AsDrawn,
    Draw,
    Draws,
    DrawsCountError,
    DrawsDifferError,
    Replay,
    has_draws,
)
from workbench.compiler.interpreter.serialized_function import Regions as Regions
from workbench.compiler.interpreter.serialized_function import (
    enter_device_autocast as enter_device_autocast,
)
from workbench.compiler.request.callables import Callee, resolve
from workbench.device_kinds import CPU, GPU
from workbench.errors import UsageError
from workbench.report.collectives.collective_rows import NOTHING_SENT
from workbench.tasks.progress_events import ProgressCallback, step

_OTHER_SEED = 20
_NOTHING: AbstractContextManager[None] = nullcontext()
NOT_MODELLED = (
    "Races between program instances, TMA, warps and shared-memory limits are not modelled; "
    "wb.numerics covers TF32."
)


@dataclass(frozen=True)
class Question:
    """What is to be verified, and how."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    reference: Callable[..., Any] | None = None
    per_kernel: bool = False
    float64: bool = False
    tolerance: Tolerance = field(default_factory=partial(Tolerance, grows=True))
    edit: Edit | None = None

    def within(self, rtol: float | None, atol: float | None) -> Question:
        """The same with these tolerances in place of those of each dtype."""
        return replace(self, tolerance=Tolerance(rtol, atol, grows=True))


def verify_program(
    program: Program | NoProgram,
    original: Any,
    question: Question,
    interpreter: Interpreter | None = None,
    progress: ProgressCallback | None = None,
) -> Verification:
    """Run the whole program through Triton's interpreter and compare what it gives.

    The reference is the original, run now, eagerly, on the CPU: with the random numbers that the
    program draws, with Triton kernels of the user interpreted, in double precision with `float64`.
    A leaf that differs is held to the original in double precision; the captured graph only says
    where a difference comes from. What cannot run on the CPU is not checked. Raises `UsageError`
    where there is no program, or for a reference that raises, `ContractError` when the call does
    not fit.
    """
    if isinstance(program, NoProgram):
        raise UsageError(f"The generated program cannot be run here: {program.reason}")
    callee = resolve(original)
    if program.sends_nothing:
        return Verification((), callee.name, cause=NOTHING_SENT)
    serialized_function.refuse_misfit(callee, question.args, question.kwargs)
    _refuse_meta(callee, question)
    serialized_function.refuse_unfit(program, callee, question.args, question.kwargs)
    interpreter = interpreter or keep_warm_interpreter()
    interpreter.begin()  # it imports torch while the reference runs
    with Arena() as arena, closing(Session(interpreter, arena, question.edit)) as session:
        verifier = _Verifier(program, callee, question, session, progress)
        try:
            return verifier.verified()
        except NotHere as error:
            if verifier.is_reference_to_blame:
                raise
            return verifier.not_checked(str(error))


def _refuse_meta(callee: Callee, question: Question) -> None:
    tensors = [
        (f"a tensor of {callee.name}", t) for t in serialized_function.tensors_of(callee.module)
    ]
    for path, leaf in leaves((question.args, dict(question.kwargs)), Path("call")):
        tensors += [(str(path), leaf)] if isinstance(leaf, torch.Tensor) else []
    for name, tensor in tensors:
        if tensor.is_meta or type(tensor).__name__ == "FakeTensor":
            raise UsageError(
                f"{name} has no data, so nothing can be computed with it. Verify with CPU tensors: "
                "load the module's weights, and pass inputs with values."
            )


_NO_GRAPH = (
    "The captured graph was not kept ({}), so random numbers differ from the program's and the "
    "wrong stage is unknown."
)
_ON_A_GPU = "If the code calls GPU-only operators, verify it on a GPU, or compile it for 'host'."
_AUTOCAST = {
    GPU: (
        "CUDA autocast cannot run here. Eager ran under CPU autocast, which casts different "
        "operators, so everything is compared at {} tolerance."
    ),
    CPU: "CPU autocast has no effect on a GPU, so eager ran without it.",
}
_BY_CHANCE = (
    "it depends on random numbers, and eager could not reproduce the program's ({}); the program "
    "agrees with its captured graph"
)
_OTHER_COUNT = "eager draws a different number of random values than the program ({})"
_OTHER_DRAWS = "eager draws different random numbers than the program ({})"
_NO_DRAWS = "eager draws random numbers, the program draws none"
_NO_FLOAT64 = (
    "{} has no float64 value for {}. Omit float64=: without it, differences are checked against "
    "float64 wherever that is possible."
)


class _Verifier:
    """One verification."""

    def __init__(
        self,
        program: Program,
        callee: Callee,
        question: Question,
        session: Session,
        progress: ProgressCallback | None = None,
    ):
        self._progress = progress
        self._program = program
        self._callee = callee
        self._question = question
        self._session = session
        self._made = CheckedProgram(
            program,
            callee,
            session,
            question.tolerance,
            question.per_kernel,
            question.float64,
            question.edit,
        )
        self._graphs = self._made.graphs
        self._subject = self._reached(callee.entry, [*callee.receiver, callee.entry])
        self._original: Callable[..., Any] = question.reference or run_eagerly(callee)
        self._judged = self._subject
        if question.reference is not None:
            places = self._subject.reached.places
            judged = self._reached(question.reference, [question.reference], places)
            self._judged = replace(judged, held=self._subject.held)
        self._draws = Draws()
        self._regions = serialized_function.Regions()
        self._no_replay = ""
        self._draws_other_count = False
        self.is_reference_to_blame = False
        self._of_graph: dict[bool, Effects] = {}
        self._its_run: Effects | None = None

    def _reached(
        self, function: Any, roots: Sequence[Any], places: Mapping[int, Any] | None = None
    ) -> Subject:
        question = self._question
        named = [("", root) for root in roots]
        return subject_of(
            function,
            question.args,
            question.kwargs,
            named,
            places,
            around=lambda: serialized_function.grad_mode(self._program.contract),
        )

    def not_checked(self, reason: str) -> Verification:
        """That nothing was compared, and why."""
        rows = [report_not_checked("output", reason.rstrip("."))]
        return self._verification(tuple(rows))

    def verified(self) -> Verification:
        what = f"The generated program of {self._callee.name}"
        try:
            with reword_errors(what, _ON_A_GPU):
                program = self._made.generated()
            if has_draws(self._graphs):
                self._graph_run()
            with step(self._progress, "running eager on the CPU"):
                expected, exact = self._expected()
            its_run = step(self._progress, "running the generated program on the CPU")
            with its_run, reword_errors(what, _ON_A_GPU):
                as_drawn = AsDrawn(self._draws) if self._draws.by_library else _NOTHING
                actual = self._its_run = self._run_without_autocast(program, as_drawn)
        except KernelFailed as failure:
            return self._verification((), [report_failed(failure.kernel, str(failure))])
        rows = self._rows(expected, actual, exact)
        if any(row.verdict == "failed" for row in rows) and self._may_follow():
            expected, rows = self._following(actual, expected, rows)
        return self._verification(rows, cause=self._cause(rows, expected, actual))

    def _may_follow(self) -> bool:
        """Whether autocast for the CPU was met, and the graph has casts to its dtype.

        `torch.autocast(x.device.type)` is for the GPU where the tensor is there.
        """
        casts = {str(dtype) for dtype in self._regions.left_out}
        nodes = [str((n.args, n.kwargs)) for graph in self._graphs for n in graph.nodes]
        return any(cast in text for cast in casts for text in nodes)

    def _following(
        self, actual: Effects, expected: Effects, rows: tuple[Comparison, ...]
    ) -> tuple[Effects, tuple[Comparison, ...]]:
        """The original under the autocast of the GPU, where the program agrees with that."""
        former, self._regions = self._regions, serialized_function.Regions(follows=True)
        again, exact = self._expected()
        rows_again = self._rows(again, actual, exact)
        if not any(row.verdict == "failed" for row in rows_again):
            return again, rows_again
        self._regions = former
        return expected, rows

    def _expected(self) -> tuple[Effects, Mapping[str, torch.Tensor | None]]:
        """What the original does; with `float64` its values in double precision, too."""
        self.is_reference_to_blame = self._question.reference is not None
        with reword_errors(self._name(), OTHER_REFERENCE):
            expected = self._expected_of_original()
        self.is_reference_to_blame = False
        return expected

    def _expected_of_original(self) -> tuple[Effects, Mapping[str, torch.Tensor | None]]:
        """See `_expected`; raises what the original raises."""
        if self._question.float64:
            wide, exact = self._run_in_double()
            if wide is None:
                raise UsageError(_NO_FLOAT64.format(self._callee.name, "its outputs"))
            return wide, exact.exact
        try:
            expected, is_whole = self._run_original(), True
        except DrawsDifferError as error:
            self._no_replay, is_whole = str(error), False
            self._draws_other_count = isinstance(error, DrawsCountError)
        if not is_whole:
            expected = self._run_original()
        return expected, {}

    def _run_original(
        self,
        *modes: AbstractContextManager[Any],
        seed: int | None = None,
        subject: Subject | None = None,
    ) -> Effects:
        """The original as on the GPU: its Triton kernels interpreted, with its random numbers."""
        replay = None
        if self._draws.forward and not self._no_replay and seed is None:
            replay = Replay(self._draws.forward)

        @contextmanager
        def around() -> Iterator[None]:
            with ExitStack() as stack:
                stack.enter_context(serialized_function.grad_mode(self._program.contract))
                stack.enter_context(serialized_function.enter_device_autocast(self._regions))
                stack.enter_context(self._interpret_launches())
                stack.enter_context(run_what_only_a_gpu_has(self._graphs))
                for mode in modes:
                    stack.enter_context(mode)
                if replay is not None:
                    stack.enter_context(replay)
                yield

        effects = replace(subject or self._judged, around=around).run(self._original, seed)
        if replay is not None and not replay.is_whole:
            raise DrawsCountError("it draws fewer random numbers than the graph")
        return effects

    def _interpret_launches(self) -> AbstractContextManager[None]:
        """Launches of Triton kernels by code of the user go to the interpreter."""

        def launch(name: str, grid: tuple[int, int, int], arguments: Mapping[str, Any]) -> None:
            self._session.unedited(name, self._made.sources[name], name).run_on(grid, arguments)

        return interpret_users_kernels(self._graphs, self._made.sources, launch)

    def _run_in_double(
        self, dice: Dice | None = None, subject: Subject | None = None
    ) -> tuple[Effects | None, InDouble]:
        """The original once more, and its values in double precision where it has them.

        What a Triton kernel of the user gives counts as exact, and so is no reference of its own.
        """
        if self._question.float64 and any(graph.kernels for graph in self._graphs):
            return None, InDouble()
        runs: list[Effects] = []

        def run(mode: DoublePrecision) -> Mapping[str, Any]:
            runs.append(wide := self._run_original(mode, subject=subject))
            return {p.name: p.expected for p in pairs(self._judged, wide, wide, True)}

        with suppress(DrawsDifferError):
            exact = follow_in_double(run, dice)
            return next(iter(runs), None), exact
        return None, InDouble()

    def _run_without_autocast(
        self,
        function: Callable[..., Any],
        mode: AbstractContextManager[Any] = _NOTHING,
        subject: Subject | None = None,
    ) -> Effects:
        """Graphs have their casts already, those of the device."""
        with torch.autocast("cpu", enabled=False), mode, self._interpret_launches():
            return (subject or self._subject).run(function)

    def _graph_run(self, *, as_there: bool = False) -> Effects | None:
        """What the captured graph gives, once; None where it cannot be run here.

        With `as_there` its outputs have the strides of the device.
        """
        if as_there not in self._of_graph and self._graphs:
            with suppress(UsageError):
                captured = self._made.captured(self._draws, as_there=as_there)
                self._of_graph[as_there] = self._run_without_autocast(captured)
        return self._of_graph.get(as_there)

    def _rows(
        self, expected: Effects, actual: Effects, exact: Mapping[str, torch.Tensor | None]
    ) -> tuple[Comparison, ...]:
        rows = self._compared(expected, actual, exact)
        rows += [_masks_differ(*two) for two in self._draws.differing()]
        rows += self._laid_out(expected, actual)
        rows += self._drawn(expected)
        if self._no_replay and any(row.verdict == "failed" for row in rows):
            rows = self._without_chance(rows, expected, actual)
        return tuple(rows)

    def _drawn(self, expected: Effects) -> Iterator[Comparison]:
        """A row of the generator, which is another on a GPU: who draws otherwise moves it so."""
        draws = has_draws(self._graphs)
        name = next((name for name in expected.random if name.startswith(TORCH_RANDOM)), None)
        if self._draws_other_count and self._draws.are_by_library:
            yield make_failed_row(name or TORCH_RANDOM, _OTHER_COUNT.format(self._no_replay))
        elif self._no_replay:
            yield report_not_checked(name or TORCH_RANDOM, _OTHER_DRAWS.format(self._no_replay))
        elif name is not None and self._graphs and not draws:
            yield report_not_checked(name, _NO_DRAWS)

    def _laid_out(self, expected: Effects, actual: Effects) -> Iterator[Comparison]:
        """Rows of the outputs that lie otherwise in memory, unless the device alone is why.

        It is where the captured graph lies as the original on the CPU, and as the program with the
        strides that it has on the device. Of a graph with operators that only the device has, no
        operator of the CPU says how they lie.
        """
        forms = [*form_pairs(expected, actual)]
        here = self._graph_run() if forms else None
        there = self._graph_run(as_there=True) if here is not None else None
        unlike: set[str] = set()
        if here is not None and there is not None:
            on_cpu = () if has_device_operators(self._graphs) else form_pairs(expected, here)
            unlike = {pair.name for pair in chain(on_cpu, form_pairs(there, actual))}
        for pair in forms:
            if pair.failure:
                yield make_failed_row(pair.name, pair.failure)
            elif there is None or pair.name in unlike or not pair.name.startswith(STRIDES):
                yield report_not_checked(pair.name, pair.not_checked)

    def _compared(
        self, expected: Effects, actual: Effects, exact: Mapping[str, torch.Tensor | None]
    ) -> list[Comparison]:
        """The leaves of two runs, those that differ with the opinion of double precision."""
        question = self._question
        sides = [
            pair if exact.get(pair.name) is None else replace(pair, expected=exact[pair.name])
            for pair in pairs(self._judged, expected, actual)
            if not pair.name.startswith(TORCH_RANDOM)  # a GPU has another generator
        ]
        tolerance = replace(
            question.tolerance, float64=question.float64, as_dtype=self._regions.dtype
        )
        judge = Judge(tolerance, None if question.float64 else self._run_again)
        rows = judge.compare(sides)
        settled = judge.settle(rows, sides)
        if question.float64 or actual is not self._its_run or has_draws(self._graphs):
            return settled
        return self._ask_unused(judge.run, actual).judge(rows, settled)

    def _run_again(self, dice: Dice | None) -> InDouble:
        return self._run_in_double(dice)[1]

    def _ask_unused(self, wide: Callable[[], InDouble], actual: Effects) -> UnusedElements:
        def run_compiled(subject: Subject) -> Effects:
            program = replace(self._made, per_kernel=False).generated()
            own = replace(self._subject, args=subject.args, kwargs=subject.kwargs)
            return self._run_without_autocast(program, subject=own)

        return UnusedElements(
            self._original,
            self._judged,
            lambda subject: self._run_in_double(subject=subject)[1],
            run_compiled,
            wide,
            actual,
        )

    def _without_chance(
        self, rows: list[Comparison], expected: Effects, actual: Effects
    ) -> list[Comparison]:
        """What another seed changes in the original is compared with the captured graph alone."""
        other = self._compared(expected, self._run_original(seed=_OTHER_SEED), {})
        by_chance = {row.leaf for row in other if row.verdict == "failed"}
        graph = self._graph_run()
        if graph is None:
            wrong = set()
        else:
            wrong = {r.leaf for r in self._compared(graph, actual, {}) if r.verdict == "failed"}
        why = _BY_CHANCE.format(self._no_replay)
        return [
            report_not_checked(row.leaf, why)
            if row.verdict == "failed" and row.leaf in by_chance and row.leaf not in wrong
            else row
            for row in rows
        ]

    def _cause(self, rows: Sequence[Comparison], expected: Effects, actual: Effects) -> str:
        """Where a difference comes from, in two sentences: the captured graph is asked."""
        wrong = {row.leaf for row in rows if row.verdict == "failed"}
        if not wrong:
            return ""
        if any(self._draws.differing()):
            return (
                "Forward and backward kernels draw different random numbers for one operator of "
                "the graph: the code generation is wrong. options={'fallback_random': True} draws "
                "them once."
            )
        graph = self._graph_run()
        if graph is None:
            return (
                "The stage that went wrong could not be identified: the captured graph cannot run "
                "here."
            )
        leaves = {r.leaf for r in self._compared(expected, graph, {}) if r.verdict == "failed"}
        leaves |= {pair.name for pair in form_pairs(expected, graph) if pair.failure}
        if not wrong & leaves and self._overflows_alone(wrong, expected, actual):
            return say_overflow(sorted(wrong))
        return name_stage(self._name(), wrong, leaves, self._made.kernels)

    def _overflows_alone(self, wrong: Collection[str], expected: Effects, actual: Effects) -> bool:
        """Whether in all of these leaves eager overflows where the program is as in float64."""
        _, wide = self._run_in_double()
        sides = {pair.name: pair for pair in pairs(self._judged, expected, actual)}
        return all(
            leaf in sides
            and overflows_alone(sides[leaf].expected, sides[leaf].actual, wide.exact.get(leaf))
            for leaf in wrong
        )

    def _verification(
        self,
        rows: tuple[Comparison, ...],
        stopped: Sequence[KernelComparison] = (),
        cause: str = "",
    ) -> Verification:
        ran = note_configs(self._session.configs)
        lost = () if self._graphs else (_NO_GRAPH.format(self._program.no_graphs),)
        casts = note_autocast(self._regions)
        notes = (NOT_MODELLED, *casts, *ran, *lost)
        return Verification(rows, self._name(), (*self._made.kernels, *stopped), notes, cause)

    def _name(self) -> str:
        """The reference, and what was done to it."""
        reference = self._question.reference
        name = self._callee.name
        if reference is not None:
            name = getattr(reference, "__name__", type(reference).__name__)
        regions = " and ".join(self._regions.devices)
        how = [
            "float64" if self._question.float64 else "",
            "the same seeds" if self._draws.forward and not self._no_replay else "",
            f"autocast for {regions}" if regions else "",
        ]
        details = ", ".join(filter(None, how))
        return f"{name} ({details})" if details else name


def run_eagerly(callee: Callee) -> Callable[..., Any]:
    """What calls the original as it is."""
    return lambda *args, **kwargs: callee.entry(*args, **kwargs)


def note_configs(configs: Mapping[str, str]) -> tuple[str, ...]:
    """Which configuration of each kernel was run, where it has several."""
    named = ", ".join(f"{kernel} ({config})" for kernel, config in configs.items() if config)
    return (f"One configuration of each kernel was run: {named}.",) if named else ()


def note_autocast(regions: serialized_function.Regions) -> tuple[str, ...]:
    """How the original was run where autocast was met."""
    dtype = str(regions.dtype).removeprefix("torch.")
    return tuple(_AUTOCAST[kind].format(dtype) for kind in regions.devices)


def name_stage(
    name: str,
    wrong: Collection[str],
    of_graph: Collection[str],
    kernels: Sequence[KernelComparison],
) -> str:
    """Two sentences: which stage made a difference, and what was not judged.

    `of_graph` are the leaves in which the captured graph differs from the original.
    """
    shared = [leaf for leaf in wrong if leaf in of_graph]
    if shared:
        compared = (
            "The kernels were compared only with that graph, not with eager."
            if kernels
            else "The kernels were not compared one by one."
        )
        return (
            f"The captured graph also differs from {name} (in {', '.join(sorted(shared))}), so "
            "code generation is not the cause: the capture, a graph pass or an outdated "
            f"compiled-in value is wrong. {compared}"
        )
    failed = next((row.kernel for row in kernels if row.verdict == "failed"), None)
    where = (
        f"The first wrong kernel is {failed}."
        if failed
        else "Every compared kernel agrees with the graph, so the code around the kernels is wrong."
        if kernels
        else "`wb.verify(x, args, per_kernel=True)` names the first wrong kernel."
    )
    return f"The captured graph agrees with {name}, so the code generation is wrong. {where}"


def _masks_differ(once: Draw, again: Draw) -> Comparison:
    share = float((once.value.reshape(-1) != again.value.reshape(-1)).double().mean())
    return make_failed_row(
        f"random numbers of {again.node}",
        f"forward and backward programs draw different numbers from one seed ({share:.0%} "
        "differ), so the gradients use a different mask",
    )

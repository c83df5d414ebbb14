"""A program on one rank: built there, compiled there, run both ways, and compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import Any

import torch

from workbench.compiler.call_state.random_states import TORCH_RANDOM
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.comparison.judgement import InDouble, Judge, Tolerance
from workbench.compiler.comparison.output_comparison import Comparison
from workbench.compiler.comparison.trial import (
    DRAWN,
    Effects,
    Subject,
    pairs,
    run_in_double_precision,
    subject_of,
)
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.interpreter.stage_checks import tensors_of, wrap_writing_back
from workbench.compiler.interpreter.verification import UNDECIDED, KernelFailed, run_eagerly
from workbench.compiler.pipeline.pipeline import compile_ahead
from workbench.compiler.request.callables import Callee, resolve
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.errors import UsageError
from workbench.report import Report
from workbench.worlds.clusters.running.rank_kernels import (
    Generated,
    KernelQuestion,
    RankKernels,
    list_generated,
)
from workbench.worlds.clusters.running.rank_threads import (
    Rank,
)
from workbench.worlds.clusters.running.sent_collectives import Sent, Sizes
from workbench.worlds.clusters.running.whole_rows import Whole as Whole
from workbench.worlds.clusters.running.whole_rows import WholeRows

Graph = tuple[tuple[str, tuple[Any, ...] | None, str | None], ...]
"""What a captured graph calls, in its order: the function, the sizes and the dtype it gives."""

AFTER_AUTOGRAD = "aot_eager_decomp_partition"
"""Torch's backend that runs the graphs after AOTAutograd, with the decompositions of Inductor."""

_BUILT_OTHERWISE = (
    "calling build again returns different values or the same model, so float64 cannot show "
    "whether the difference is rounding"
)
_LEFT_OUT = (
    "eager uses autocast for the tensors' device, which is the CPU here and the GPU in the "
    "compiled program"
)


@dataclass(frozen=True)
class RankQuestion:
    """What is to be verified on every rank.

    `build` makes the program on a mesh. `args` and `kwargs` are those of every rank, unless `build`
    gives a rank its own. `record` is of the compilation that is judged, made on `rank`. With
    `kernels` the programs that are generated for a GPU are run, in place of graphs.
    """

    build: Callable[[Any], Any]
    sizes: Sizes
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    options: CompileOptions
    record: Report
    rank: int
    name: str
    whole: Whole | None = None
    rtol: float | None = None
    atol: float | None = None
    kernels: KernelQuestion | None = None

    @property
    def runs(self) -> str:
        """What is run of each rank, in words."""
        return "The captured graphs" if self.kernels is None else "The generated programs"


class NoNumbers(UsageError):
    """What was built holds no numbers."""


@dataclass(frozen=True)
class RankRun:
    """What one rank gave: rows of its leaves, its graphs, the collectives that it sent."""

    rows: tuple[Comparison, ...]
    captured: Graph
    program: Graph
    sent: tuple[Sent, ...]
    sent_eagerly: tuple[Sent, ...]
    whole: tuple[Comparison, ...] = ()
    cause: str = ""
    generated: Generated = ()


def read_graph(report: Report, stages: Collection[str] = ("dynamo",)) -> Graph:
    """What graphs of a record call, in their order: that which Dynamo captured, or of others."""
    own = {graph.id for graph in report.graphs if graph.stage in stages}
    return tuple(
        (str(node.target), None if node.shape is None else tuple(node.shape), node.dtype)
        for node in report.nodes
        if node.graph in own and node.op.startswith("call")
    )


def read_program(report: Report) -> Graph:
    """What a rank's program calls: the graphs after AOTAutograd, Dynamo's where there are none."""
    return read_graph(report, ("forward", "backward", "inference")) or read_graph(report)


def run_rank(question: RankQuestion, rank: Rank) -> RankRun:
    """Run the program on one rank, as it is and compiled, in the thread of the rank."""
    return _OneRank(question, rank).run()


class _OneRank:
    """One rank, in its thread: every step that sends is taken by all of them together."""

    def __init__(self, question: RankQuestion, rank: Rank):
        self._question = question
        self._rank = rank

    def run(self) -> RankRun:
        with ExitStack() as stack:
            return self._run(stack)

    def _run(self, stack: ExitStack) -> RankRun:
        question, rank = self._question, self._rank
        callee, args, kwargs = self._built()
        request = CompileRequest(callee.entry, args, kwargs, question.options)
        kernels = None
        if question.kernels is None:
            with rank.compiling():
                code = compile_ahead(request)
            report, compiled = code.report, wrap_writing_back(code.aot_fn, callee)
        else:
            kernels = RankKernels(question.kernels, rank, callee)
            with rank.compiling():
                report = kernels.compile(request, stack)
            compiled = kernels.callable(compares=True)
        subject = self._subject(callee, args, kwargs)
        rank.begin()
        with rank.during("The eager program"):
            expected = subject.run(run_eagerly(callee))
        sent_eagerly = tuple(rank.sent)
        rank.begin()
        try:
            with rank.during(question.runs):
                actual = subject.run(compiled)
        except KernelFailed as failure:
            if kernels is not None:
                kernels.fail(failure)
            raise
        sent = tuple(rank.sent)
        rows = self._rows(callee, subject, expected, actual)
        whole: list[Comparison] = []
        cause = ""
        if question.whole is not None:
            judged = WholeRows(
                question.whole, rank, callee.module, sent_eagerly, question.rtol, question.atol
            )
            again = compiled if kernels is None else kernels.callable(compares=False)
            with rank.during(question.runs):
                whole, cause = judged.rows(subject, again)
        return RankRun(
            tuple(rows),
            read_graph(report),
            read_program(report),
            sent,
            sent_eagerly,
            tuple(whole),
            cause,
            () if kernels is None else list_generated(report),
        )

    def _built(self) -> tuple[Callee, tuple[Any, ...], Mapping[str, Any]]:
        question, rank = self._question, self._rank
        rank.begin()
        rank.restart_random()
        with rank.during("build"):
            built = question.build(rank.mesh)
        args, kwargs = question.args, question.kwargs
        if isinstance(built, tuple) and len(built) == 2 and isinstance(built[1], tuple | list):
            if (args or kwargs) and question.whole is None:
                raise UsageError(
                    "Both build and the verify call pass inputs: omit one of them. With "
                    "reference=, the inputs of the verify call go to the reference."
                )
            built, args, kwargs = built[0], tuple(built[1]), {}
        if not callable(built):
            raise UsageError(
                f"build(mesh) returned {type(built).__name__}: return the model or function, or a "
                "pair with the tuple of this rank's inputs."
            )
        callee = resolve(built)
        self._refuse_meta(callee, args, kwargs)
        self._refuse_shared(callee)
        return callee, args, kwargs

    def _refuse_shared(self, callee: Callee) -> None:
        own = _held(callee)
        for other, theirs in enumerate(self._rank.exchange(own)):
            shared = own.keys() & theirs.keys()
            if other != self._rank.number and shared:
                raise UsageError(
                    f"build returned the same model, or the same {own[min(shared)]}, for rank "
                    f"{other}, but each rank needs its own, because ranks modify it. Create a new "
                    "model in every call of build."
                )

    def _refuse_meta(self, callee: Callee, args: Any, kwargs: Any) -> None:
        tensors = list(tensors_of(callee.module)) + [
            leaf
            for _, leaf in leaves((args, dict(kwargs)), Path("call"))
            if isinstance(leaf, torch.Tensor)
        ]
        if any(tensor.is_meta for tensor in tensors):
            raise NoNumbers(
                "The model or an input is on meta and has no values. Build a small model on the "
                "CPU, without torch.device('meta'). Seed it with torch.manual_seed, and pass "
                "inputs with values."
            )

    def _subject(self, callee: Callee, args: Any, kwargs: Any) -> Subject:
        roots = [("", root) for root in (*callee.receiver, callee.entry)]
        grad = bool(self._question.options.grad)
        return subject_of(
            callee.entry,
            args,
            kwargs,
            roots,
            gradients=grad,
            around=partial(torch.set_grad_enabled, grad),
        )

    def _rows(
        self, callee: Callee, subject: Subject, expected: Effects, actual: Effects
    ) -> list[Comparison]:
        question = self._question
        as_dtype = None if question.kernels is None else question.kernels.regions.dtype
        tolerance = (
            Tolerance(question.rtol, question.atol)
            if question.kernels is None
            else replace(question.kernels.tolerance, as_dtype=as_dtype)
        )
        drawn = DRAWN if expected.random else ""
        judge = Judge(tolerance, drawn=drawn)
        sides = [
            pair
            for pair in pairs(subject, expected, actual)
            if question.kernels is None or not pair.name.startswith(TORCH_RANDOM)
        ]
        rows = judge.compare(sides)
        if not any(self._rank.exchange(any(row.verdict == "failed" for row in rows))):
            return rows
        if question.kernels is None:
            wide, unsettled = self._in_double(callee, expected, judge)
            settled = [
                replace(row, reason=unsettled)
                if row.verdict == "failed" and not row.reason
                else row
                for row in _judge_once(tolerance, wide).settle(rows, sides)
            ]
        else:  # of the program whose casts are widened, too: kernels round less often
            wide = run_in_double_precision(run_eagerly(callee), subject)
            settled = _judge_once(tolerance, wide, UNDECIDED).settle(rows, sides)
        is_left_out = question.kernels is not None and question.kernels.regions.left_out
        unknown = DRAWN if expected.random else _LEFT_OUT if is_left_out else ""
        if not unknown:
            return settled
        return [
            replace(
                row, verdict="not checked", reason=unknown, max_abs_error=nan, max_rel_error=nan
            )
            if row.verdict == "failed"
            else row
            for row in settled
        ]

    def _in_double(self, first: Callee, expected: Effects, judge: Judge) -> tuple[InDouble, str]:
        """The program once more in double precision; nothing where it refuses that dtype.

        Then why what is built again is not the same program, "" where it is.
        """
        callee, args, kwargs = self._built()
        subject = self._subject(callee, args, kwargs)
        again = subject.run(run_eagerly(callee))
        sides = [*pairs(subject, expected, again)]
        is_same = all(row.verdict != "failed" for row in judge.compare(sides))
        is_new = not _held(first).keys() & _held(callee).keys()
        if not all(self._rank.exchange(is_same and is_new)):
            return InDouble(), _BUILT_OTHERWISE
        try:
            if callee.module is not None:
                callee.module.double()
            wide = widen((args, dict(kwargs)))
            subject = self._subject(callee, *wide)
            effects = subject.run(run_eagerly(callee))
            by_name = {pair.name: pair.expected for pair in pairs(subject, effects, effects, True)}
        except (RuntimeError, TypeError, NotImplementedError, ValueError):
            by_name = {}
        return InDouble(by_name if all(self._rank.exchange(bool(by_name))) else {}), ""


def _judge_once(tolerance: Tolerance, wide: InDouble, undecided: str = "") -> Judge:
    """A judge that asks for no other roundings: each run is one of all ranks."""
    return Judge(tolerance, lambda dice: wide if dice is None else InDouble(), undecided=undecided)


def _held(callee: Callee) -> dict[int, str]:
    """Parameters, and modules that hold tensors of their own, by what tells them apart."""
    module = callee.module
    if module is None:
        return {}
    return {id(one): name for name, one in module.named_parameters()} | {
        id(part): name or type(part).__name__
        for name, part in module.named_modules()
        if any(True for _ in (*part.parameters(recurse=False), *part.buffers(recurse=False)))
    }


def widen(value: Any) -> Any:
    """The same arguments, floating point numbers in double precision."""
    return tp.TREE_MAP.get()(
        lambda leaf: (
            leaf.double() if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf
        ),
        value,
    )

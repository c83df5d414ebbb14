"""A program on every rank, compiled and not: what it gives there, compared on each of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from math import nan
from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.compiler.comparison.judgement import make_failed_row
from workbench.compiler.comparison.output_comparison import (
    Comparison,
    Verdict,
    Verification,
    find_largest_error,
)
from workbench.compiler.interpreter.verification import KernelFailed, enter_device_autocast
from workbench.errors import UsageError, WorkbenchError, read_first_line
from workbench.number_text import plural
from workbench.report.presenter import presenter
from workbench.worlds.clusters.running.one_rank import AFTER_AUTOGRAD as AFTER_AUTOGRAD
from workbench.worlds.clusters.running.one_rank import (
    Graph,
    NoNumbers,
    RankRun,
    read_graph,
    run_rank,
)
from workbench.worlds.clusters.running.one_rank import RankQuestion as RankQuestion
from workbench.worlds.clusters.running.rank_kernels import (
    Generated,
    RankKernel,
    find_first_wrong,
    list_generated,
)
from workbench.worlds.clusters.running.rank_kernels import KernelQuestion as KernelQuestion
from workbench.worlds.clusters.running.rank_threads import (
    RankFailed,
    run_on_ranks,
)
from workbench.worlds.clusters.running.sent_collectives import (
    RanksDisagree,
    Sent,
    find_place,
    say_ranks,
)
from workbench.worlds.clusters.running.whole_rows import LOSSES as LOSSES
from workbench.worlds.clusters.running.whole_rows import Whole as Whole

if TYPE_CHECKING:
    import pandas


def check_ranks(question: RankQuestion) -> RankVerification:
    """Run the program on every rank of a mesh, as it is and compiled, and compare what it gives.

    Raises `UsageError` for a program that cannot be built or run here, and for one that is another
    than the one that was compiled.
    """
    kernels = question.kernels
    try:
        with nullcontext() if kernels is None else enter_device_autocast(kernels.regions):
            runs = run_on_ranks(question.sizes, partial(run_rank, question))
    except RanksDisagree as differ:
        rows = [make_failed_row(f"rank {r}: collectives", str(differ)) for r in differ.wrong]
        return RankVerification(
            tuple(rows), question.name, _list_kernels(question), _notes(question), str(differ)
        )
    except RankFailed as failure:
        raised = failure.error
        if isinstance(raised, NoNumbers):
            return RankVerification((), question.name, cause=str(raised))
        if isinstance(raised, KernelFailed):
            return RankVerification(
                (), question.name, _list_kernels(question), _notes(question), str(raised)
            )
        if isinstance(raised, WorkbenchError):
            raise type(raised)(f"On rank {failure.rank}: {raised}") from raised
        raise UsageError(
            f"The program cannot run on rank {failure.rank} ({type(raised).__name__}: "
            f"{read_first_line(raised)}). Try this rank on its own: `with "
            f"wb.virtual_cluster({dict(question.sizes)!r}, rank={failure.rank}) as mesh: "
            "build(mesh)`."
        ) from raised
    _refuse_other_program(question, runs[question.rank].captured)
    _refuse_other_kernels(question, runs[question.rank].generated)
    return _judge(question, runs)


def _refuse_other_program(question: RankQuestion, built: Graph) -> None:
    recorded = read_graph(question.record)
    if not recorded or recorded == built:
        return
    at = next(
        (n for n, two in enumerate(zip(recorded, built, strict=False)) if two[0] != two[1]),
        min(len(recorded), len(built)),
    )
    was, now = (_say_call(graph, at) for graph in (recorded, built))
    raise UsageError(
        f"build creates a program that differs from the compiled one: call {at + 1} of its graph "
        f"is {now} instead of {was}. Pass the function that created the model, with inputs of the "
        "same sizes and dtypes."
    )


def _refuse_other_kernels(question: RankQuestion, generated: Generated) -> None:
    """Raise `UsageError` where other kernels were run than those of the record."""
    if question.kernels is None:
        return
    recorded = list_generated(question.record)
    if recorded == generated:
        return
    other = next(
        (name for (name, _), two in zip(recorded, generated, strict=False) if (name, _) != two),
        f"kernel {min(len(recorded), len(generated)) + 1}",
    )
    raise UsageError(
        f"{question.name} was recompiled for rank {question.rank}, and its kernels differ from the "
        f"report's, from {other} on. Verify under the torch options that it was compiled with, or "
        "recompile it."
    )


def _list_kernels(question: RankQuestion) -> tuple[RankKernel, ...]:
    """What kernels gave, rank by rank, each in the order of its program."""
    rows = question.kernels.rows if question.kernels is not None else ()
    return tuple(sorted(rows, key=lambda row: row.rank))


def _say_call(graph: Graph, at: int) -> str:
    if at >= len(graph):
        return "nothing"
    target, shape, dtype = graph[at]
    return f"{target} of {dtype} {list(shape or ())}"


def _notes(question: RankQuestion) -> tuple[str, ...]:
    kinds = question.kernels.notes if question.kernels is not None else (_note_graphs(question),)
    against = (
        "Nothing was compared with an unsharded model: pass it as reference= to check the sharding."
        if question.whole is None
        else "If ranks hold different parts of an output, gradients are compared with the "
        f"gradients of {question.whole.name} for the {question.whole.loss} of the losses."
    )
    return *kinds, against


def _note_graphs(question: RankQuestion) -> str:
    if question.options.backend == AFTER_AUTOGRAD:
        return (
            "Each rank ran its own captured graphs (after AOTAutograd), and collectives "
            "exchanged data. Inductor's passes and generated kernels did not run."
        )
    return (
        f"Each rank ran the code of backend {question.options.backend_name!r}, and collectives "
        "exchanged data."
    )


def _judge(question: RankQuestion, runs: Sequence[RankRun]) -> RankVerification:
    rows: list[Comparison] = []
    numbers = []
    for rank, run in enumerate(runs):
        own = [replace(row, leaf=f"rank {rank}: {row.leaf}") for row in run.rows]
        whole = question.whole
        of_whole = [
            replace(row, leaf=f"rank {rank}: {row.leaf} against {whole.name if whole else ''}")
            for row in run.whole
        ]
        rows += [*own, *of_whole]
        numbers.append(_count(question, rank, run))
    name = question.name if question.whole is None else f"{question.name} and {question.whole.name}"
    return RankVerification(
        tuple(rows),
        name,
        _list_kernels(question),
        (*_notes(question), *_say_graphs(runs)),
        cause=_explain(question, runs),
        ranks=tuple(numbers),
    )


def _count(question: RankQuestion, rank: int, run: RankRun) -> RankNumbers:
    both = [*run.rows, *run.whole]
    verdicts = {row.verdict for row in both}
    kernels = {row.verdict for row in _list_kernels(question) if row.rank == rank}
    verdict: Verdict = (
        "failed"
        if "failed" in verdicts | kernels
        else "not checked"
        if kernels and "passed" not in kernels
        else "passed"
        if verdicts == {"passed"}
        else "not checked"
    )
    reasons = dict.fromkeys(row.reason for row in both if row.verdict != "passed" and row.reason)
    place = ", ".join(f"{dim} {at}" for dim, at in find_place(question.sizes, rank).items())
    return RankNumbers(
        rank,
        place,
        len(run.program),
        len(run.sent),
        _largest(run.rows),
        _largest(run.whole),
        verdict,
        "; ".join(reasons),
    )


def _largest(rows: Sequence[Comparison]) -> float:
    judged = [row for row in rows if row.verdict != "not checked"]
    largest = find_largest_error(judged)
    return nan if largest is None else largest


def _say_graphs(runs: Sequence[RankRun]) -> tuple[str, ...]:
    others = [str(rank) for rank, run in enumerate(runs) if run.program != runs[0].program]
    if not others:
        same = "The graphs of all ranks have the same operators, sizes and dtypes"
        return (f"{same}; constants are not compared.",)
    return (f"The graphs of rank {', '.join(others)} differ from those of rank 0.",)


def _explain(question: RankQuestion, runs: Sequence[RankRun]) -> str:
    """What makes a difference, first of the compiled graphs, then of the program."""
    if find_first_wrong(_list_kernels(question)) is not None:
        return ""  # it is named, and what it gives may make all the others wrong
    for rank, run in enumerate(runs):
        if all(row.verdict != "failed" for row in run.rows):
            continue
        if [_name(one) for one in run.sent] == [_name(one) for one in run.sent_eagerly]:
            sent = f"{question.runs} start the same collectives as the program, in the same order."
            if question.kernels is None:
                return sent
            return (
                f"{sent} Every compared kernel matches the lowered graph, so the capture, a graph "
                "pass or the code around the kernels is wrong."
            )
        of_rank = f"{question.runs.removesuffix('s')} of rank {rank}"
        missing = list(run.sent_eagerly)
        for one in run.sent:
            same = [other for other in missing if _name(other) == _name(one)]
            if same:
                missing.remove(same[0])
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            return f"{of_rank} lacks {missing[0]}{more}."
        return f"{of_rank} starts other collectives than the program does."
    return next((run.cause for run in runs if run.cause), "")


def _name(sent: Sent) -> tuple[str, str, str]:
    return sent.op, sent.reduction, sent.group


@dataclass(frozen=True)
class RankNumbers:
    """One rank: its program, and the largest absolute differences of its outputs and gradients.

    `nodes` counts those of its graphs after AOTAutograd that call something, `collectives` those
    that it starts in the call and its backward. `deviation` is from the program run without a
    compiler, `from_reference` from the unsharded model; NaN where that was not asked for.
    """

    rank: int  # the rank
    place: str  # its coordinate along each mesh dimension
    nodes: int  # call nodes of its graphs
    collectives: int  # the collectives that it starts, in the forward and backward pass
    deviation: float = nan  # the largest difference from eager
    from_reference: float = nan  # the largest difference from the unsharded model
    verdict: Verdict = "not checked"  # how its comparison ended
    reason: str = ""  # why it failed or was not checked


@dataclass(frozen=True, repr=False)
class RankVerification(Verification):
    """Whether every rank of a cluster gives what the program without a compiler gives there.

    `ranks` has a row for each rank that was run; `frame("ranks")` shows them. Leaves are named
    after their rank: "rank 3: output". `kernels` are those of all ranks, where it was asked for.
    """

    kernels: tuple[RankKernel, ...] = ()
    ranks: tuple[RankNumbers, ...] = field(default=())

    @checked
    def frame(self, name: str = "leaves") -> pandas.DataFrame:
        """The `ranks`, the `kernels`, or the `leaves` as `Verification.frame` has them."""
        if name == "ranks":
            return presenter().rows_frame(self.ranks, RankNumbers)
        if name == "kernels":
            return presenter().rows_frame(self.kernels, RankKernel)
        return super().frame(name)

    @property
    def first_wrong(self) -> RankKernel | None:
        """The wrong kernel that others may be wrong for, with its rank, or None."""
        return find_first_wrong(self.kernels)

    @property
    def wrong_kernel(self) -> str | None:
        """The name of `first_wrong`."""
        return None if self.first_wrong is None else self.first_wrong.kernel

    @property
    def sentence(self) -> str:
        """The verdict, by leaf on which ranks it differs, what was not checked, and the cause."""
        parts = [f"{self._summary}."]
        lost: dict[str, list[Comparison]] = {}
        for row in self.rows:
            if row.verdict == "not checked":
                lost.setdefault(row.reason, []).append(row)
        parts += [f"Not checked: {self._name(rows)}: {why}." for why, rows in lost.items()]
        kernels: dict[str, dict[str, set[int]]] = {}
        for one in self.kernels:
            if one.verdict == "not checked":
                kernels.setdefault(one.reason, {}).setdefault(one.kernel, set()).add(one.rank)
        for why, names in kernels.items():
            where = [f"{name} on {say_ranks(sorted(ranks))}" for name, ranks in names.items()]
            parts.append(f"Not checked: {', '.join(where)}: {why}.")
        return " ".join(filter(None, [*parts, self.cause]))

    @property
    def _summary(self) -> str:
        wrong = [row for row in self.rows if row.verdict == "failed"]
        first = self.first_wrong
        named = [f"kernel {first}" if first else "", self._name(wrong)]
        judged = sum(row.verdict != "not checked" for row in self.rows)
        verdict = (
            f"differs in {'; '.join(filter(None, named))}"
            if first or wrong
            else "ok"
            if self.ok
            else "not everything was checked"
            if judged
            else "nothing was checked"
        )
        ranks = f" on {plural(len(self.ranks), 'rank')}" if self.ranks else ""
        count = f"{judged} of {plural(len(self.rows), 'leaf', 'leaves')} checked{ranks}"
        if self.kernels:
            done = sum(row.verdict != "not checked" for row in self.kernels)
            count += f", {done} of {plural(len(self.kernels), 'kernel value')}"
        notes = f", {plural(len(self.notes), 'note')}" if self.notes else ""
        return f"{verdict}, {count} against {self.reference}{notes}"

    def _name(self, rows: Sequence[Comparison]) -> str:
        """Leaves, each with its ranks, such as "output on every rank"."""
        by_leaf: dict[str, list[int]] = {}
        for row in rows:
            rank, _, leaf = row.leaf.removeprefix("rank ").partition(": ")
            by_leaf.setdefault(leaf, []).append(int(rank))
        by_ranks: dict[str, list[str]] = {}
        for leaf, ranks in by_leaf.items():
            every = len(ranks) == len(self.ranks)
            by_ranks.setdefault("every rank" if every else say_ranks(ranks), []).append(leaf)
        return "; ".join(f"{', '.join(named)} on {on}" for on, named in by_ranks.items())

    @property
    def facts(self) -> dict[str, Any]:
        """What a record keeps of it."""
        return {
            "verdict": self.verdict,
            "sentence": self.sentence,
            "ranks": [vars_of(row) for row in self.ranks],
        }


def vars_of(row: RankNumbers) -> dict[str, Any]:
    """A row as plain data; what was not compared has None."""
    return {
        name: None if value != value else value
        for name in row.__dataclass_fields__
        for value in [getattr(row, name)]
    }

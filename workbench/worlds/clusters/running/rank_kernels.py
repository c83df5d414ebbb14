"""Kernels on every rank: a rank's program for a GPU, run by the interpreter between collectives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, Protocol, cast

from workbench.compiler.captured_graphs.program_parts import NoProgram, Program
from workbench.compiler.comparison.judgement import Tolerance
from workbench.compiler.comparison.output_comparison import KernelComparison
from workbench.compiler.interpreter.verification import (
    NOT_MODELLED,
    Arena,
    CheckedProgram,
    Edit,
    KernelFailed,
    Peers,
    Regions,
    RepeatedLaunches,
    Session,
    keep_warm_interpreter,
    note_autocast,
    note_configs,
    report_failed,
    reword_errors,
)
from workbench.compiler.process_groups.cluster import refuse_hooks
from workbench.compiler.request.callables import Callee
from workbench.compiler.request.compile_request import CompileRequest
from workbench.errors import UsageError
from workbench.handles.base.compiled_base import Recipe
from workbench.number_text import plural
from workbench.report import Report
from workbench.report.collectives.collective_rows import is_collective
from workbench.worlds.clusters.running.rank_threads import Rank

Generated = tuple[tuple[str, str], ...]
"""The kernels of a program in their order: the name, and the source of one that is generated."""


@dataclass(frozen=True)
class RankKernel(KernelComparison):
    """A value that a kernel or library call gave on one rank, beside that of the rank's graph.

    `after` is the last collective that the rank had started, the call itself where it is one;
    `sent` counts those until then. `line` is the innermost one of the user that it computes.
    """

    rank: int = 0  # the rank
    line: str = ""
    after: str = ""
    sent: int = 0  # how many collectives the rank had started

    @property
    def sends(self) -> bool:
        """Whether it starts or awaits a collective."""
        return is_collective(self.kernel)

    def __str__(self) -> str:
        at = [self.line, f"after {self.after}" if self.after and not self.sends else ""]
        where = ", ".join(filter(None, at))
        return f"{self.kernel} on rank {self.rank}" + (f" ({where})" if where else "")


class _ForGpu(Protocol):
    """A compilation for a virtual GPU."""

    @property
    def program(self) -> Program | NoProgram: ...

    @property
    def report(self) -> Report: ...


@dataclass(frozen=True)
class KernelQuestion:
    """How the kernels of all ranks are run: compiled for a virtual GPU by `recipe`.

    `edit(rank)` changes sources before they run. `rows` and `configs` are added to by the ranks, of
    which one runs at a time.
    """

    recipe: Recipe
    tolerance: Tolerance
    edit: Callable[[int], Edit | None] = lambda rank: None
    launches: RepeatedLaunches = field(default_factory=RepeatedLaunches)
    regions: Regions = field(default_factory=Regions)
    rows: list[RankKernel] = field(default_factory=list)
    configs: dict[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was run, and what that cannot show."""
        requested, ran = self.launches.asked, self.launches.ran
        launches = f"{plural(requested, 'Triton launch', 'Triton launches')} on all ranks"
        counted = (
            f"All {launches} ran."
            if requested == ran
            else f"{ran} of {launches} ran; the rest would repeat one of these on the same bytes."
        )
        return (
            "Each rank compiled and ran its generated program: Triton kernels in the interpreter, "
            "library calls and collectives (with real data) in torch. Each kernel's values were "
            "compared with the lowered graph of its rank.",
            counted,
            NOT_MODELLED,
            *note_autocast(self.regions),
            *note_configs(self.configs),
        )


class RankKernels:
    """The program of one rank, compiled there for the GPU, and what its kernels gave."""

    def __init__(self, question: KernelQuestion, rank: Rank, callee: Callee):
        self._question = question
        self._rank = rank
        self._callee = callee
        self._made: CheckedProgram
        self._lines: Mapping[tuple[str, str], str] = {}
        self._line_of_sent = ""

    def compile(self, request: CompileRequest, stack: ExitStack) -> Report:
        """Compile it; what it makes can be called until `stack` is closed. Returns its record.

        Raises `UsageError` where it cannot be run here.
        """
        question, name = self._question, self._callee.name
        refuse_hooks(name, self._callee.module)
        compiled = cast("_ForGpu", question.recipe.compile_other(request))
        program = compiled.program
        if isinstance(program, NoProgram):
            raise UsageError(f"The generated program cannot run here: {program.reason}")
        edit = question.edit(self._rank.number)
        session = Session(
            keep_warm_interpreter(),
            stack.enter_context(Arena()),
            edit,
            repeated=question.launches,
        )
        stack.enter_context(closing(session))
        session.configs = question.configs
        self._made = CheckedProgram(
            program,
            self._callee,
            session,
            question.tolerance,
            edit=edit,
            peers=Peers(are_there=True, apart=self._rank.apart, tell=self._tell),
        )
        if any(graph.kernels for graph in self._made.graphs):
            raise UsageError(
                f"{name} launches hand-written Triton kernels, which eager cannot launch on the "
                f"CPU for several ranks. {_CURE}"
            )
        self._lines = _list_lines(compiled.report)
        return compiled.report

    def callable(self, *, compares: bool) -> Callable[..., Any]:
        """The generated program, whose kernels are compared, or run only.

        What it raises is said in a sentence.
        """
        what = f"The generated program of {self._callee.name}"
        with reword_errors(what, _CURE):
            generated = replace(self._made, per_kernel=compares).generated()

        def call(*args: Any, **kwargs: Any) -> Any:
            with reword_errors(what, _CURE):
                return generated(*args, **kwargs)

        return call

    def fail(self, failure: KernelFailed) -> None:
        """Note a kernel that could not be run to its end."""
        self._tell(report_failed(failure.kernel, str(failure)))

    def _tell(self, row: KernelComparison) -> None:
        sent, key = self._rank.sent, (row.graph, row.node)
        line = self._lines.get(key) or self._lines.get((row.graph, row.kernel), "")
        if is_collective(row.kernel):
            self._line_of_sent = line
        after = str(replace(sent[-1], line=self._line_of_sent)) if sent else ""
        self._question.rows.append(
            RankKernel(**vars(row), rank=self._rank.number, line=line, after=after, sent=len(sent))
        )


_CURE = "Omit per_kernel to run the graphs after AOTAutograd instead."


def find_first_wrong(rows: Sequence[RankKernel]) -> RankKernel | None:
    """The wrong kernel that others may be wrong for: a rank has wrong values from another one.

    Of each rank the first that is wrong; a collective has what other ranks gave, so that it counts
    only where no kernel is wrong.
    """
    first: dict[int, RankKernel] = {}
    for row in rows:
        if row.verdict == "failed":
            first.setdefault(row.rank, row)
    return min(first.values(), key=lambda row: (row.sends, row.sent, row.rank), default=None)


def list_generated(report: Report) -> Generated:
    """The kernels of a record in their order, each with its source."""
    return tuple(
        (
            kernel.name,
            report.texts[kernel.text] if kernel.text and kernel.language == "triton" else "",
        )
        for kernel in report.kernels
    )


def _list_lines(report: Report) -> dict[tuple[str, str], str]:
    """The innermost line of the user by the graph, and the name of a node or generated kernel."""
    graphs: dict[str, str] = {}
    last: dict[tuple[str, str], str] = {}
    for kernel in report.kernels:
        graph = "backward" if kernel.is_backward else "forward"
        for node in kernel.nodes:
            graphs[node.partition(":")[0]] = graph
        if kernel.nodes and kernel.language == "triton":
            last[graph, kernel.name] = kernel.nodes[-1]
    by_node = {
        (graphs[node.graph], node.name): f"{PurePath(node.file).name}:{node.line}"
        for node in report.nodes
        if node.graph in graphs and node.file is not None
    }
    by_kernel = {
        (graph, name): by_node[graph, node.partition(":")[2]]
        for (graph, name), node in last.items()
        if (graph, node.partition(":")[2]) in by_node
    }
    return by_kernel | by_node

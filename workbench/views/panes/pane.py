"""What every pane is: an id, a title, and what reads its data from a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.analysis.opportunities.opportunity import Tried
from workbench.analysis.opportunities.rehearsed_cures import RehearsedCure
from workbench.artifacts.preflight.check import Check
from workbench.number_text import number_text
from workbench.report import Graph, Kernel, Phase, Report
from workbench.report.graph_stages import GRAPH_STAGES
from workbench.report.measures import measure_compile_seconds
from workbench.report.report_header import KERNEL_LOG, OWN_KERNEL
from workbench.tasks.live_action import LiveAction
from workbench.views.kit.blocks import Block
from workbench.views.kit.live_actions import explain_not_started
from workbench.views.wire import report_messages as wire
from workbench.views.wire.gpu_messages import Targets
from workbench.views.wire.report_messages import Note, Side


@dataclass(frozen=True)
class ViewContext:
    """What a report cannot know: how the user calls the result, what is alive, what was saved."""

    variable: str = "report"
    is_record: bool = True
    """Whether that is the record itself; otherwise it carries one in `.report`."""
    sandbox: wire.Sandbox | None = None
    """The inputs to edit where the guards are alive; without it they are only described."""
    targets: Targets | None = None
    """What the call can be compiled for in place, where it is alive."""
    actions: Sequence[LiveAction] = ()
    """What can be started in the background, where the call is alive."""
    saved: tuple[str, int] | None = None
    """The path and the size in bytes of the artifact."""
    dropped: tuple[str, ...] = ()
    """What was taken out before sharing."""
    tried: Mapping[str, Tried] = field(default_factory=dict)
    """What became of the opportunities that were tried in place, by their keys."""
    checked: Check | None = None
    """How the file compares with a machine that was asked about in place."""
    cures: Mapping[tuple[str, int], RehearsedCure] = field(default_factory=dict)
    """The outcomes of cures that were tried, by the break and the position of the cure."""
    pane: wire.PaneId = "overview"
    """The pane that a view opens with."""

    @property
    def record(self) -> str:
        """The record in code: what `.frame(...)` is asked of."""
        return self.variable if self.is_record else f"{self.variable}.report"

    @property
    def why_not(self) -> dict[str, str | None]:
        """Of each action why it cannot be started from the view; None where it can."""
        return explain_not_started(self.actions)


ONLY_TOLD = ("trace", KERNEL_LOG, OWN_KERNEL, "explanation")
"""Kinds of records without code."""


def choose_pane(report: Report) -> wire.PaneId:
    """The pane that a record opens with: of one kernel its code, or what a check found in it."""
    if report.request.kind != OWN_KERNEL:
        return "overview"
    return "kernels" if len(report.kernels) else "checks"


Answer = tuple[str, wire.Tone] | None
"""What a pane answers to its question in at most 24 characters; None where it has no answer."""


@dataclass(frozen=True)
class Content:
    """What a pane adds to the document, by key, and what its tab shows; `blocks` are drawn in it.

    `empty` says why there is nothing to see in it and what would change that, `why_not` of actions
    why they would change nothing here, whatever is alive.
    """

    data: Mapping[str, object]
    count: int | None = None
    is_problem: bool = False
    empty: wire.Note | None = None
    why_not: Mapping[str, str] = field(default_factory=dict)
    blocks: Sequence[Block] = ()
    answer: Answer = None


PageSection = tuple[str, Sequence[Block], bool]
"""What a section of a page has: how much is in it, its blocks, whether it is open."""


@dataclass(frozen=True)
class Pane:
    """One pane of the view of a report."""

    id: wire.PaneId
    title: str
    document: Callable[[Report, ViewContext], Content]
    question: str = ""
    """The id of the question that it belongs to (`questions.py`); the others are for experts."""
    is_home: bool = False
    """Whether a compilation is followed in it; such a pane is never empty."""
    is_rare: bool = False
    """Whether it is left out where it is empty: no action on this record would fill it."""
    after: wire.PaneId = ""
    """The pane that it follows among the tabs; a pane of a world that names none is last."""
    section: Callable[[Report, wire.Document], PageSection | None] | None = None
    """What a page without scripts shows of it, from the document; None for nothing."""


def missing(report: Report, part: str, title: str, otherwise: str) -> Note:
    """Why `part` is absent: the recorded reason, the failed step, or the sentence `otherwise`."""
    reason = report.why_missing(part)
    text = otherwise
    if reason is not None:
        end = "" if reason.endswith((".", "!", "?")) else "."
        text = f"{reason[:1].upper()}{reason[1:]}{end}"
    elif not report.outcome.ok:
        how = f"{report.outcome.clause}{report.outcome.place}"
        text = f"The compilation {how} before this part was reached."
    return {"title": title, "text": text, "tone": "plain"}


def can_be_called(report: Report) -> bool:
    """Whether the record is of something that was compiled, and not only told of."""
    return report.outcome.ok and report.request.kind not in ONLY_TOLD


def tell_cost(report: Report) -> str:
    """How long what is shown took to compile, as a measure of another; empty where not known."""
    seconds = measure_compile_seconds((p.start_s, p.duration_s) for p in report.phases)
    took = number_text(seconds or 0.0, "seconds")
    return f" The compilation shown here took {took}." if seconds else ""


_FORWARD, _BACKWARD = "fw_compiler", "bw_compiler"


class Passes:
    """Whether a row belongs to the forward or to the backward of a compilation that has both.

    It is empty for what belongs to both, and where there is no backward.
    """

    def __init__(self, report: Report):
        self.has_both = any(report.kernels.columns.get("is_backward", ())) or any(
            report.graphs.columns.get("is_backward", ())
        )
        self._lowered: dict[str, Side] = {
            row.graph: self.choose_side(is_backward=row.is_backward)
            for row in (*report.wrappers, *report.kernels)
        }
        self._times: list[tuple[float, float, Side]] = [
            (
                row.start_s,
                row.start_s + row.duration_s,
                self.choose_side(is_backward=name == _BACKWARD),
            )
            for row in report.phases
            for name in (_FORWARD, _BACKWARD)
            if name in row.name
        ]

    def choose_side(self, *, is_backward: bool) -> Side:
        """That of what is of the backward or not."""
        if not self.has_both:
            return ""
        return "backward" if is_backward else "forward"

    def kernel(self, kernel: Kernel) -> Side:
        """That of a kernel."""
        return self.choose_side(is_backward=kernel.is_backward)

    def lowered(self, graph: str) -> Side:
        """That of a lowered graph, such as `i1`."""
        return self._lowered.get(graph, "")

    def graph(self, graph: Graph) -> Side:
        """That of a graph of a stage; what comes before the partition is of both."""
        stage = GRAPH_STAGES.get(graph.stage)
        if stage is not None and stage.is_whole:
            return ""
        return self.choose_side(is_backward=graph.is_backward)

    def phase(self, phase: Phase) -> Side:
        """That of a phase: of the compilation of the one or the other, in whatever thread."""
        sides = (side for start, end, side in self._times if start <= phase.start_s < end)
        return next(sides, "")

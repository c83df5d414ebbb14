"""One thing to change: what it would save, how sure that is, and what trying it has saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from workbench.analysis.changes.change import Change, Edit, read_settings
from workbench.analysis.collectives.streams import StreamChange
from workbench.analysis.diff.difference import Diff
from workbench.analysis.fusion.traffic import count_moved_bytes, sum_known
from workbench.report import Report
from workbench.report.paired import PairedTimes
from workbench.report.presenter import Presented

Sure = Literal["likely", "possible", "measured elsewhere"]
Kind = Literal[
    "rewrite",
    "option",
    "mode",
    "dtype",
    "layout",
    "static shape",
    "padding",
    "replacement operator",
    "break cure",
    "recompile cause",
]


SURE: Mapping[Sure, str] = {
    "likely": "The change removes work that is counted in the generated code.",
    "possible": "The report cannot decide this: it depends on how a result is used, which "
    "precision suffices, or which code is faster.",
    "measured elsewhere": "The time comes from costs measured on another machine.",
}
"""What each word of `Opportunity.sure` means."""


_DEPENDS = "The change depends on the surrounding code: edit the code and recompile."


_AMONG_BREAKS = "Try it at the graph break, in the Breaks & guards pane."


_BY_HAND: Mapping[Kind, str] = {
    "break cure": "Torch's hint has no code to try: edit the lines and run wb.explain again.",
    "recompile cause": "A trial needs calls with both inputs, which the report lacks: record the "
    "program with wb.session, which tries a patch on its calls.",
    "padding": "The model defines these sizes: change them where the model is built, and "
    "recompile.",
}


@dataclass(frozen=True)
class Opportunity:
    """One change, with a range of its saving in one call, and the source of the number.

    Bytes are those of Inductor's traffic model, times are microseconds, `fewer_kernels` are
    launches; unknown figures are None. `settings` are the changed arguments, such as `("mode",
    "max-autotune")`. `before` are the lines from `line` of `file`, `after` their replacement;
    without `before`, `after` is an example. `kernels` are the kernels concerned. `saved_memory` is
    the reduction of live bytes, at the peak or after the call.
    """

    id: str  # its id
    rule: str  # the rule that found it
    kind: Kind  # what is changed: code, an option, a mode, a dtype, a layout
    text: str  # what to do, in a sentence or two
    sure: Sure  # how sure it is: likely, possible, measured elsewhere
    source: str  # where the numbers come from
    kernels: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None
    line_id: str | None = None  # the line, by its `L:` id
    saved_bytes_low: int | None = None  # bytes that are saved at the least
    saved_bytes_high: int | None = None  # bytes that are saved at the most
    saved_us_low: float | None = None  # microseconds that are saved at the least
    saved_us_high: float | None = None  # microseconds that are saved at the most
    fewer_kernels: int | None = None
    settings: tuple[tuple[str, Any], ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    changes_numbers: bool = False  # whether the results differ then, as in a narrower dtype
    saved_memory: int | None = None

    @property
    def action(self) -> str:
        """The change in code: the argument to pass, or the lines to write."""
        return self.change.arguments if self.settings else "\n".join(self.after)

    @property
    def change(self) -> Change:
        """What is written; lines that are an example alone are in `after` and not in it."""
        edits: tuple[Edit, ...] = ()
        if self.before and self.file is not None and self.line is not None:
            edits = (Edit(self.file, self.line, self.before, self.after),)
        return Change(edits, settings=read_settings(self.settings))

    @property
    def key(self) -> str:
        """What stays the same when the order changes: the rule and what it is about."""
        return ":".join((self.rule, self.line_id or "", *self.kernels[:1]))

    @property
    def why_not(self) -> str | None:
        """The reason why it cannot be tried automatically, in a sentence; None if it can."""
        if self.settings or self.before:
            return None
        if self.kind == "break cure" and self.after:
            return _AMONG_BREAKS
        return _BY_HAND.get(self.kind, _DEPENDS)

    @property
    def predicted_us(self) -> tuple[float, float, float] | None:
        """Microseconds that a call may save: lowest, middle, highest; None if unknown."""
        low, high = self.saved_us_low, self.saved_us_high
        if high is None:
            return None
        low = 0.0 if low is None else low
        return low, (low + high) / 2, high

    @property
    def is_told_by_bytes(self) -> bool:
        """Whether bytes measure the saving: float64 costs mostly arithmetic."""
        return self.rule != "float64-creeps-in"

    @property
    def rank(self) -> tuple[float, float, float]:
        """What opportunities are ordered by: time, bytes, launches that are saved at most."""
        saved = self.saved_us_high, self.saved_bytes_high, self.fewer_kernels
        time, moved, fewer = (-(value or 0) for value in saved)
        return time, moved, fewer


@dataclass(frozen=True)
class Cost:
    """The cost of one call of a compilation; None is unknown.

    Graph breaks, kernels and bytes are counted. `bound_us` is the roofline time on the GPU,
    `call_us` the median of calls, measured interleaved with those of the other compilation.
    """

    kernels: int
    bytes: int | None
    bound_us: float | None = None
    call_us: float | None = None
    breaks: int = 0


@dataclass(frozen=True, repr=False)
class Tried(Presented):
    """Compare the compilation with the change to the one without.

    `agrees` is None if the outputs were not compared. `checked` describes the comparison and its
    tolerance, or why there was none. `diff` is the result of `workbench.diff` for the two. `times`
    has both, interleaved, with the resulting verdict; None if nothing runs here. `streams` has both
    by the model of a rank with its collectives; None without them.
    """

    opportunity: Opportunity
    before: Cost
    after: Cost
    agrees: bool | None
    checked: str
    compiled: Any = field(repr=False)
    diff: Diff = field(repr=False)
    times: PairedTimes | None = field(default=None, repr=False)
    streams: StreamChange | None = field(default=None, repr=False)

    @property
    def saved_bytes(self) -> int | None:
        """Bytes that a call saves; negative if it moves more."""
        if self.before.bytes is None or self.after.bytes is None:
            return None
        return self.before.bytes - self.after.bytes

    @property
    def fewer_kernels(self) -> int:
        """Kernel launches that a call saves."""
        return self.before.kernels - self.after.kernels

    @property
    def saved_us(self) -> float | None:
        """Microseconds that a call saves: measured in pairs, or by the bounds if nothing was timed.

        With collectives, they are modelled. None if the pairs are too noisy, or the model is not
        exact enough; 0 for identical code and for no difference.
        """
        if self.times is not None:
            if self.times.is_sure:
                return self.times.saved_us.median
            return None if self.times.doubt and not self.times.is_identical else 0.0
        if self.streams is not None:
            is_known = self.streams.is_sure or self.streams.is_alike
            return self.streams.saved_us if is_known else None
        if self.before.bound_us is None or self.after.bound_us is None:
            return None
        return self.before.bound_us - self.after.bound_us


def read_cost(report: Report, runs_us: Sequence[float] = ()) -> Cost:
    """The cost of a compilation by its report, with measured times."""
    calls = {kernel.id: max(kernel.calls, 1) for kernel in report.kernels}
    bounds = [
        None if row.bound_us is None else row.bound_us * calls.get(row.kernel, 1)
        for row in report.own_roofline
    ]
    return Cost(
        kernels=sum(calls.values()),
        bytes=sum_known(count_moved_bytes(kernel) for kernel in report.kernels),
        bound_us=sum_known(bounds),
        call_us=median(runs_us) if runs_us else None,
        breaks=len(report.breaks),
    )

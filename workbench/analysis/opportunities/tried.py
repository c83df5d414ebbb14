"""What became of an opportunity that was tried: what it was to save, and what it saves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workbench.analysis.diff.difference import Diff
from workbench.analysis.fusion.traffic import count_moved_bytes, sum_known
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.report import Report
from workbench.report.presenter import Presented


@dataclass(frozen=True)
class Cost:
    """What one compilation costs a call; None is unknown.

    Graph breaks, kernels and bytes are counted, `bound_us` is the least time on the GPU by the
    roofline, `call_us` the median of calls that were measured in turn with the other one's.
    """

    kernels: int
    bytes: int | None
    bound_us: float | None = None
    call_us: float | None = None
    breaks: int = 0


@dataclass(frozen=True, repr=False)
class Tried(Presented):
    """The compilation with the change beside the one without.

    `agrees` is None where the outputs were not compared; `checked` says what was compared, with
    which tolerance, or why not. `diff` is what `workbench.diff` gives for the two.
    """

    opportunity: Opportunity
    before: Cost
    after: Cost
    agrees: bool | None
    checked: str
    compiled: Any = field(repr=False)
    diff: Diff = field(repr=False)

    @property
    def saved_bytes(self) -> int | None:
        """Bytes a call moves less; negative where it moves more."""
        if self.before.bytes is None or self.after.bytes is None:
            return None
        return self.before.bytes - self.after.bytes

    @property
    def fewer_kernels(self) -> int:
        """Kernels a call starts less."""
        return self.before.kernels - self.after.kernels

    @property
    def saved_us(self) -> float | None:
        """Microseconds a call takes less: measured on this machine, else by the bounds."""
        for name in ("call_us", "bound_us"):
            old, new = getattr(self.before, name), getattr(self.after, name)
            if old is not None and new is not None:
                return float(old - new)
        return None


def read_cost(report: Report, call_us: float | None = None) -> Cost:
    """What a compilation costs by its record, with the time that was measured."""
    calls = {kernel.id: max(kernel.calls, 1) for kernel in report.kernels}
    bounds = [
        None if row.bound_us is None else row.bound_us * calls.get(row.kernel, 1)
        for row in report.roofline
    ]
    return Cost(
        kernels=sum(calls.values()),
        bytes=sum_known(count_moved_bytes(kernel) for kernel in report.kernels),
        bound_us=sum_known(bounds),
        call_us=call_us,
        breaks=len(report.breaks),
    )

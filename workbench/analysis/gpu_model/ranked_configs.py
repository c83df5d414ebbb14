"""Configurations of one kernel in the order of a model, with what is against one.

Timed on an H100 (torch 2.11) for four kernels with 10 to 29 configurations, the model's first took
1.06 to 1.54 times the fastest, the best of its first five 1.00 to 1.03 times. Further down, the
order says little: Spearman's correlation of rank and time was 0.03 to 0.56, and of one kernel the
fastest was among the two that the model puts last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING

from workbench.arguments import checked
from workbench.number_text import number_text, plural
from workbench.report.machine_rows import RankedConfig
from workbench.report.presenter import Presented, presenter
from workbench.report.record import Report

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas


_SLOWER = 1.1  # times the best of the model
_EMPTIER = 0.5  # of the occupancy of the best


@dataclass(frozen=True, repr=False)
class RankedConfigs(Presented):
    """The configurations of one kernel on one GPU, compiled and ranked by a model: nothing was run.

    `report` is the record of the compilation with the table `ranked_configs`.
    """

    report: Report
    kernel: str
    target: str

    @property
    def rows(self) -> tuple[RankedConfig, ...]:
        """By rank, then those that cannot be compiled or launched."""
        wanted = (self.kernel, self.target)
        return tuple(r for r in self.report.ranked_configs if (r.kernel, r.target) == wanted)

    def frame(self) -> pandas.DataFrame:
        """A row for each configuration, the best by the model first."""
        return presenter().frame(self)

    def plot(self) -> matplotlib.figure.Figure:
        """What the model gives each configuration as a heat map, block sizes × warps and stages.

        Raises `UsageError` where no configuration could be compiled.
        """
        return presenter().plot(self)

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """A page with the heat map and every row, which needs no network; written to `path`."""
        return presenter().page(self, path)


def rank_rows(rows: Iterable[RankedConfig]) -> list[RankedConfig]:
    """The rows in the order of the model, each with its rank, and what is against the later ones.

    Equal times are ordered by spills, occupancy, then registers; without a time, by these alone. A
    row that is rejected already cannot be compiled or launched: it has no rank and comes last.
    """
    given = list(rows)
    ranked = sorted((row for row in given if row.rejection is None), key=_place)
    made = [
        replace(row, rank=n, rejection="; ".join(_reasons(row, ranked[0])) or None)
        for n, row in enumerate(ranked, 1)
    ]
    return [*made, *(row for row in given if row.rejection is not None)]


def _place(row: RankedConfig) -> tuple[float, float, float, float]:
    time = math.inf if row.model_us is None else round(row.model_us, 4)
    return (time, row.spills or 0, -(row.occupancy or 0.0), row.registers or 0)


def _reasons(row: RankedConfig, best: RankedConfig) -> Iterator[str]:
    if row.spills and not best.spills:
        yield f"spills: {plural(row.spills, 'store or load', 'stores and loads')}"
    if row.occupancy is not None and row.occupancy < _EMPTIER * (best.occupancy or 0.0):
        its, most = (number_text(each.occupancy, "percent") for each in (row, best))
        words = f"occupancy {its}, the best has {most}"
        yield f"{words} (limited by {row.limiter})" if row.limiter else words
    if row.model_us and best.model_us:
        times = row.model_us / best.model_us
        if times > _SLOWER:
            yield f"{number_text(times, 'amount')} times the best by the model"

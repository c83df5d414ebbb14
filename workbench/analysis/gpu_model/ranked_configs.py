"""Configurations of one kernel that a model ranked: a record that answers as a table and a page."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from workbench.report.machine_rows import RankedConfig
from workbench.report.presenting import Presented, presenter
from workbench.report.record import Report

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas


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

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """A page with the heat map and every row, which needs no network; written to `path`."""
        return presenter().page(self, path)

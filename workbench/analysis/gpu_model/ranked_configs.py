"""Configurations of one kernel that a model ranked: a record that answers as a table and a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.report.machine_rows import RankedConfig
from workbench.report.record import Report

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas


@dataclass(frozen=True)
class RankedConfigs:
    """The configurations of one kernel on one GPU, compiled and ranked by a model: nothing was run.

    `report` is the record of the compilation with the table `ranked_configs`.
    """

    report: Report = field(repr=False)
    kernel: str
    target: str

    @property
    def rows(self) -> tuple[RankedConfig, ...]:
        """By rank, then those that cannot be compiled or launched."""
        wanted = (self.kernel, self.target)
        return tuple(r for r in self.report.ranked_configs if (r.kernel, r.target) == wanted)

    def frame(self) -> pandas.DataFrame:
        """A row for each configuration, the best by the model first."""
        from workbench.views.ranked import frame

        return frame(self)

    def plot(self) -> matplotlib.figure.Figure:
        """What the model gives each configuration as a heat map, block sizes × warps and stages.

        Raises `UsageError` where no configuration could be compiled.
        """
        from workbench.views.ranked import plot

        return plot(self)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """A page with the heat map and every row, which needs no network; written to `path`."""
        from workbench.views.ranked import page

        return page(self, path)

    def __repr__(self) -> str:
        """The first few, and how many lose for which reason."""
        from workbench.views.ranked import text

        return text(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from workbench.views.ranked import fragment

        return {"text/plain": repr(self), "text/html": fragment(self)}

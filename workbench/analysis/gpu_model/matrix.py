"""Kernels on several GPUs: a record that answers as a table, a picture and a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.report.record import Report

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

    from workbench.analysis.diff.side_by_side import Difference

FIGURES = (
    "registers",
    "spills",
    "smem_bytes",
    "occupancy",
    "instructions",
    "bound_us",
)
"""What a matrix compares; the last and the third from it are estimates."""


@dataclass(frozen=True)
class Matrix:
    """Every Triton kernel of a compilation on several GPUs, none of which has to be here.

    `report` is the record of the compilation with the tables `matrix` and, for each cell, the rows
    of `assembly`. Kernels come in the order of how far apart the GPUs are
    (`gpu_model.target_spread`). Registers, spills, shared memory and instructions are counted in
    compiled code; occupancy and bounds are those of a model.
    """

    report: Report = field(repr=False)
    targets: tuple[str, ...]

    def frame(self, figure: str | None = None) -> pandas.DataFrame:
        """A row for each kernel and GPU; of one figure, kernels × GPUs, by its own differences.

        Figures: registers, spills, smem_bytes, occupancy, instructions, bound_us. Raises
        `UsageError` for another one.
        """
        from workbench.views.matrix import frame

        return frame(self, figure)

    def plot(self, figure: str = "registers") -> matplotlib.figure.Figure:
        """One figure as a heat map, the kernels that differ most on top.

        Raises `UsageError` where there is no such figure or no value of it.
        """
        from workbench.views.matrix import plot

        return plot(self, figure)

    def diff(self, kernel: str, a: str, b: str, stage: str | None = None) -> Difference:
        """The code of a kernel on two GPUs, side by side.

        `stage` is "ttir", "ttgir", "llir", "ptx", "sass" or "amdgcn"; by default the last that
        both GPUs have. Raises `UsageError` for a kernel, GPU or stage that the matrix does not
        have.
        """
        from workbench.views.matrix import difference

        return difference(self, kernel, a, b, stage)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """A page with a table for each figure, which needs no network; written to `path`."""
        from workbench.views.matrix_page import page

        return page(self, path)

    def __repr__(self) -> str:
        """A short stable summary: the kernels that differ most, and in what."""
        from workbench.views.matrix import text

        return text(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from workbench.views.matrix_page import fragment

        return {"text/plain": repr(self), "text/html": fragment(self)}

"""A matrix as HTML: a page that opens from disk, and the tables that a notebook keeps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from os import PathLike

from workbench.analysis.gpu_model.matrix import METRICS, Matrix
from workbench.views.charts.heat import Map
from workbench.views.gpu_model.matrix import SHADES, heat_map, kernel_labels
from workbench.views.static_html import render
from workbench.views.static_html.grids import Column, Grid, grid
from workbench.views.static_html.limits import Limits
from workbench.views.static_html.others import heat_body, heat_summary
from workbench.views.words.places import title_of
from workbench.views.words.units import plural

_SOURCE = (
    "The kernels as generated for the first GPU, compiled for each. Registers, spills, shared "
    "memory and instructions are counted in compiled code; nothing was run."
)
_REMARKS = (
    Column("Kernel", "kernel", "code"),
    Column("GPU", "target", "code"),
    Column("Remark", "note", "prose"),
)


def page(matrix: Matrix, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page with a table for each figure; written to `path` when given."""
    body = heat_body(_title(matrix), _notes(), _maps(matrix), partial(_remarks, matrix))
    return render.page(f"{title_of(matrix.report)} on several GPUs", body, path)


def fragment(matrix: Matrix) -> str:
    """The first figure as a table, the others folded; it needs no style sheet."""
    return heat_summary(_title(matrix), _notes(), _maps(matrix), partial(_remarks, matrix))


def _title(matrix: Matrix) -> str:
    count = plural(len(kernel_labels(matrix)), "Triton kernel")
    return f"{title_of(matrix.report)}: {count} on {', '.join(matrix.targets)}"


def _notes() -> list[str]:
    return [f"{SHADES.capitalize()}. {_SOURCE}"]


def _maps(matrix: Matrix) -> list[Map]:
    cells = matrix.report.matrix
    has = (f for f in METRICS if any(getattr(cell, f) is not None for cell in cells))
    return [heat_map(matrix, figure) for figure in has]


def _remarks(matrix: Matrix, limits: Limits) -> Sequence[Grid | None]:
    rows = [
        {"kernel": cell.kernel, "target": cell.target, "note": cell.note}
        for cell in matrix.report.matrix
        if cell.note
    ]
    return [grid("Remarks", _REMARKS, rows, limits, call=".frame()")]

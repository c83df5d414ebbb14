"""The matrix pane: every kernel on several GPUs, a table for each figure."""

from __future__ import annotations

from collections.abc import Callable

from workbench.analysis.gpu_model.target_spread import spreads
from workbench.report import Report
from workbench.report.machine_rows import MatrixCell
from workbench.views.blocks import Block, Column, Grid, Note, Pane
from workbench.views.limits import Limits, cut
from workbench.views.panes.missing import missing, omitted
from workbench.views.units import ABSENT, bytes_text, number_text, percent_text, seconds_text

LINE = 'wb.matrix(compiled, targets=["a100", "h100", "b200"])'
_NOTHING = (
    f"The kernels were compiled for one target only. `{LINE}` compiles each of them for several "
    "GPUs, none of which has to be here."
)


def _count(value: float | None) -> str:
    return number_text(value, "whole")


_FIGURES: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("bound_us", "Least time by the roofline (estimate)", lambda v: _seconds(v)),
    ("registers", "Registers of a thread", _count),
    ("occupancy", "Occupancy (estimate)", lambda v: ABSENT if v is None else percent_text(v, 1)),
    ("spills", "Spills: stores and loads", _count),
    ("smem_bytes", "Shared memory of a block", bytes_text),
    ("instructions", "Instructions", _count),
)


def pane(report: Report, limits: Limits) -> Pane:
    """The figures one below the other; the kernels that differ most come first."""
    nothing = empty(report)
    if nothing is not None:
        return Pane("matrix", "Matrix", (nothing,))
    cells = {(cell.kernel, cell.target): cell for cell in report.matrix}
    targets = list(dict.fromkeys(cell.target for cell in report.matrix))
    order = [found.kernel for found in spreads(report.matrix)]
    blocks: list[Block] = []
    for figure, title, words in _FIGURES:
        if any(getattr(cell, figure) is not None for cell in cells.values()):
            rows = [
                (kernel, *(_words(cells.get((kernel, t)), figure, words) for t in targets))
                for kernel in order
            ]
            blocks.append(_grid(title, targets, rows, limits))
    blocks = blocks[: limits.figures]
    blocks += [*_gaps(report, limits), *omitted(report, "matrix")]
    return Pane("matrix", "Matrix", tuple(blocks), count(report))


def count(report: Report) -> int | None:
    """GPUs that are compared."""
    return len({cell.target for cell in report.matrix}) or None


def empty(report: Report) -> Note | None:
    """Why no GPUs are compared, or None."""
    if len(report.matrix):
        return None
    if not len(report.kernels):
        return missing(report, "kernels", "No GPUs to compare.", "There is no kernel to compare.")
    return missing(report, "matrix", "No GPUs are compared.", _NOTHING)


def _grid(title: str, targets: list[str], rows: list[tuple[str, ...]], limits: Limits) -> Grid:
    shown, more = cut(rows, limits.rows, "matrix")
    columns = (Column("Kernel", "kernel"), *(Column(target, "number") for target in targets))
    return Grid(title, columns, tuple(shown), "matrix", more)


def _words(cell: MatrixCell | None, figure: str, words: Callable[[float | None], str]) -> str:
    return ABSENT if cell is None else words(getattr(cell, figure))


def _seconds(microseconds: float | None) -> str:
    return seconds_text(None if microseconds is None else microseconds * 1e-6)


def _gaps(report: Report, limits: Limits) -> list[Block]:
    """Where a kernel has no code, and why."""
    rows = [(cell.kernel, cell.target, cell.note) for cell in report.matrix if cell.note]
    if not rows:
        return []
    shown, more = cut(rows, limits.rows, "matrix")
    columns = (Column("Kernel", "kernel"), Column("GPU", "code"), Column("Remark"))
    return [Grid("Remarks", columns, tuple(shown), "matrix", more)]

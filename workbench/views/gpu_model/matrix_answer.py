"""What a matrix answers: tables, heat maps, a page, the difference of two listings, a summary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

import pandas

from workbench.analysis.gpu_model.matrix import (
    METRICS,
    Matrix,
    comparable,
    group_cells,
    list_spreads,
    measure_spread,
)
from workbench.errors import UsageError
from workbench.number_text import ABSENT, format_percent, format_us, number_text, plural
from workbench.report import Report
from workbench.report.machine_rows import MatrixCell
from workbench.report.measures import measures
from workbench.views.kit.blocks import HEAT_BYTES, Document, Heat, Sentence, Table
from workbench.views.kit.sheet import HeatCell, HeatMap, HeatRow, compute_shades, draw_heat_map
from workbench.views.kit.shown import Shown
from workbench.views.tables import data_frames
from workbench.views.tables.column import Column
from workbench.views.words.record_words import few_words, list_kernel_ops, title_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHADES = "largest differences on top; stronger colours are further from the row's best"
WITHIN = f"{SHADES}, per vendor (registers and instructions are not comparable)"
_ROWS = 8
_LETTERS = 34
_SOURCE = (
    "The kernels generated for the first GPU were compiled for every GPU. Registers, spills, "
    "shared "
    "memory and instructions are counted in compiled code; nothing was run."
)
_REMARKS = (
    Column("Kernel", "kernel", "code"),
    Column("GPU", "target", "code"),
    Column("Note", "note", "prose"),
)


def frame(matrix: Matrix, metric: str | None) -> pandas.DataFrame:
    """The cells as rows, or one metric as kernels × GPUs; see `Matrix.frame`."""
    whole = data_frames.frame(matrix.report, "matrix")
    if metric is None:
        order = {spread.kernel: n for n, spread in enumerate(list_spreads(matrix.report.matrix))}
        ranks = whole["kernel"].map(order)
        return whole.iloc[ranks.argsort(kind="stable")].reset_index(drop=True)
    _check(metric)
    wide = whole.pivot(index="kernel", columns="target", values=metric)
    table = wide.reindex(index=sort_by_spread(matrix, metric), columns=list(matrix.targets))
    is_estimate = measures(MatrixCell)[metric].source == "model"
    table.columns.name = f"{metric} (estimate)" if is_estimate else metric
    table.attrs["estimate"] = is_estimate
    return table


def sort_by_spread(matrix: Matrix, metric: str) -> list[str]:
    """The kernels, those first whose values of one metric are furthest apart.

    (largest - smallest) / largest over the GPUs, for what is counted in code over those of one
    vendor; among equal ones those that differ most in all.
    """
    _check(metric)
    cells: dict[str, list[MatrixCell]] = {}
    for cell in matrix.report.matrix:
        cells.setdefault(cell.kernel, []).append(cell)

    def apart(kernel: str) -> float:
        distance = measure_spread(metric, cells[kernel])
        return -1.0 if distance is None else distance

    in_all = [spread.kernel for spread in list_spreads(matrix.report.matrix)]
    return sorted(in_all, key=lambda kernel: -apart(kernel))


def heat_map(matrix: Matrix, metric: str) -> HeatMap:
    """One metric with the shade of each cell: how far it is from the best of its row."""
    order, cells, names = sort_by_spread(matrix, metric), group_cells(matrix), kernel_labels(matrix)
    rows = []
    for kernel in order:
        own = [cells.get((kernel, target)) for target in matrix.targets]
        shades = _shades(metric, [cell for cell in own if cell is not None])
        values = [None if cell is None else getattr(cell, metric) for cell in own]
        shown = [None if cell is None else shades[cell.target] for cell in own]
        pairs = zip(shown, (words(metric, value) for value in values), strict=True)
        rows.append(HeatRow(names[kernel], tuple(HeatCell(*pair) for pair in pairs)))
    measure, caption = measures(MatrixCell)[metric], _caption(metric, cells.values())
    return HeatMap(measure.heading or measure.hint, matrix.targets, tuple(rows), caption)


def _shades(metric: str, cells: Iterable[MatrixCell]) -> dict[str, float | None]:
    """By GPU: how far one kernel's cell is from the best of those that it is compared with."""
    by_gpu: dict[str, float | None] = {}
    for group in comparable(metric, cells):
        values = tuple(getattr(cell, metric) for cell in group)
        shades = compute_shades(values, more_is_better=metric == "occupancy")
        by_gpu |= dict(zip((cell.target for cell in group), shades, strict=True))
    return by_gpu


def _caption(metric: str, cells: Iterable[MatrixCell]) -> str:
    return WITHIN if len(comparable(metric, cells)) > 1 else SHADES


def plot(matrix: Matrix, metric: str) -> Figure:
    """One metric as a heat map; see `Matrix.plot`."""
    drawn = heat_map(matrix, metric)
    if all(cell.shade is None for row in drawn.rows for cell in row.cells):
        raise UsageError(f"Nothing to draw for {metric!r}: no kernel has a value for it.")
    return draw_heat_map(drawn)


def chart(report: Report) -> Figure:
    """The metric of a record's matrix in which the GPUs differ most."""
    spreads = list_spreads(report.matrix)
    metric = next((one.differs_in for one in spreads if one.differs_in), "registers")
    targets = tuple(dict.fromkeys(cell.target for cell in report.matrix))
    return plot(Matrix(report, targets), metric)


def words(metric: str, value: float | None) -> str:
    """A value as a person reads it."""
    if value is None:
        return ABSENT
    unit = measures(MatrixCell)[metric].unit
    if unit == "share":
        return format_percent(value, 1)
    return (
        format_us(value)
        if unit == "us"
        else number_text(value, "bytes" if unit == "B" else "whole")
    )


def kernel_labels(matrix: Matrix) -> dict[str, str]:
    """By id of a kernel: what it computes, and the id."""
    labels = {
        kernel.id: f"{few_words(list_kernel_ops(kernel).split(', '), _LETTERS)}  {kernel.id}"
        for kernel in matrix.report.kernels
    }
    return {cell.kernel: labels.get(cell.kernel, cell.kernel) for cell in matrix.report.matrix}


def text(matrix: Matrix) -> str:
    """A few lines: what was compared, and the kernels that differ most."""
    spreads = list_spreads(matrix.report.matrix)
    name = matrix.report.request.name or "?"
    lines = [f"Matrix({name}, {plural(len(spreads), 'kernel')} × {', '.join(matrix.targets)})"]
    names, cells = kernel_labels(matrix), group_cells(matrix)
    lines.append(_line("kernel", "differs in", matrix.targets))
    for one in spreads[:_ROWS]:
        metric = one.differs_in or "registers"
        own = (cells.get((one.kernel, target)) for target in matrix.targets)
        shown = [words(metric, None if cell is None else getattr(cell, metric)) for cell in own]
        lines.append(_line(names[one.kernel], metric, shown))
    if len(spreads) > _ROWS:
        lines.append(f"  {len(spreads) - _ROWS} more in .frame()")
    notes = [cell for cell in matrix.report.matrix if cell.note]
    lines += [f"  {cell.config}: {cell.note}" for cell in notes[:_ROWS]]
    if len(notes) > _ROWS:
        lines.append(f"  {plural(len(notes) - _ROWS, 'more note')} in .frame()")
    lines.append("  occupancy and bounds are modelled; nothing was run")
    return "\n".join(lines)


def _line(kernel: str, metric: str, values: Iterable[str]) -> str:
    return f"  {kernel:<{_LETTERS + 6}} {metric:<12}" + "".join(f"{value:>9}" for value in values)


def _check(metric: str) -> None:
    if metric not in METRICS:
        raise UsageError(f"Unknown metric {metric!r}. Choose one of: {', '.join(METRICS)}.")


def build_document(matrix: Matrix) -> Document:
    """A heat map for each figure, the first one open, and the remarks."""
    cells = matrix.report.matrix
    count = plural(len(kernel_labels(matrix)), "Triton kernel")
    used = (name for name in METRICS if any(getattr(cell, name) is not None for cell in cells))
    maps = [heat_map(matrix, metric) for metric in used]
    rows = [asdict(cell) for cell in cells if cell.note]
    return Document(
        f"{title_of(matrix.report)}: {count} on {', '.join(matrix.targets)}",
        [
            Sentence(f"{_caption('registers', cells).capitalize()}. {_SOURCE}"),
            *(Heat(heat, is_open=n == 0) for n, heat in enumerate(maps)),
            Table("Notes", _REMARKS, rows, ".frame()"),
        ],
        tab=f"{title_of(matrix.report)} on several GPUs",
        summary_bytes=HEAT_BYTES,
    )


SHOWN = {"Matrix": Shown(document=build_document, text=text, frame=frame, plot=plot)}

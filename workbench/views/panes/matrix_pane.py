"""The matrix: every kernel on several GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from workbench.analysis.gpu_model.matrix import list_spreads
from workbench.number_text import format_percent, format_us, join_words, plural
from workbench.report import Report
from workbench.report.machine_rows import MatrixCell
from workbench.report.report_header import OWN_KERNEL
from workbench.views.panes.pane import Content, Pane, ViewContext, missing, tell_cost
from workbench.views.wire import gpu_messages as wire
from workbench.views.wire.codec import convert_row, shorten
from workbench.views.wire.report_messages import Note

_NOTHING = (
    "The kernels were compiled for one target only. `wb.matrix` compiles them for several GPUs; "
    "this machine needs none."
)
_OF_A_CPU = (
    "No GPU kernel was generated. Pass the function and its inputs to `wb.matrix` to compile for "
    "several GPUs; this machine needs none."
)
_OF_YOUR_KERNEL = (
    "The kernel was compiled for one target only. `k.matrix([…])` compiles it for several GPUs; "
    "this machine needs none."
)


def document(report: Report, context: ViewContext) -> Content:
    """The GPUs in the order in which they were asked for, the kernels that differ most first."""
    targets = list(dict.fromkeys(cell.target for cell in report.matrix))
    rows = _matrix(report, targets)
    data = {
        "matrix_targets": targets,
        "matrix": rows,
        "matrix_says": summarize_matrix(report, targets, rows),
    }
    return Content(data, len(targets) or None, empty=_empty(report))


def _empty(report: Report) -> Note | None:
    """Why no GPUs are compared, or None."""
    if len(report.matrix):
        return None
    if not len(report.kernels):
        return missing(report, "kernels", "No GPUs to compare.", "No kernels to compare.")
    has_any = any(kernel.language == "triton" for kernel in report.kernels)
    text = _NOTHING if has_any else _OF_A_CPU
    if report.request.kind == OWN_KERNEL:
        text = _OF_YOUR_KERNEL
    return missing(report, "matrix", "No GPUs are compared.", text + tell_cost(report))


def _matrix(report: Report, targets: list[str]) -> list[wire.MatrixRow]:
    """The kernels, those that differ most first, with a cell for each GPU."""
    cells = {(cell.kernel, cell.target): cell for cell in report.matrix}
    return [
        {
            "kernel": row.kernel,
            "spread": shorten(row.total),
            "spreads": {name: shorten(value) for name, value in row.metrics},
            "differs_in": row.differs_in,
            "cells": [_cell(cells.get((row.kernel, target))) for target in targets],
        }
        for row in list_spreads(report.matrix)
    ]


def summarize_matrix(report: Report, targets: Sequence[str], rows: Sequence[wire.MatrixRow]) -> str:
    """The least time of a call on each GPU, the least first, and the kernel that differs most.

    Only kernels with a bound on all of the GPUs count: sums of different kernels say nothing.
    """
    calls = {kernel.id: kernel.calls for kernel in report.kernels}
    kernels, ordered = _sum_times(report, targets, rows, "bound_us")
    parts = []
    if kernels:
        # the fastest and the slowest: the row of totals has all
        named = [f"{format_us(time)} on {target}" for target, time in ordered]
        times = f"{named[0]} to {named[-1]}" if len(named) > 2 else ", ".join(named)
        part = f" of {len(calls)}" if len(calls) > len(kernels) else ""
        who = f"{plural(len(kernels), 'Triton kernel')}{part} take{'s' * (len(kernels) == 1)}"
        parts.append(f"{who} at least {times} (estimates).")
    modelled, ordered = _sum_times(report, targets, rows, "modelled_us")
    if modelled:
        errors = _sum_errors(report, modelled)
        alike = groupby(ordered, key=lambda item: _tell_error(errors.get(item[0]), item[1]))
        times = ", ".join(
            f"{join_words([f'{format_us(time)} on {target}' for target, time in own])} ({error})"
            for error, own in alike
        )
        few = "" if len(modelled) == len(kernels) else f" for {len(modelled)} of them"
        parts.append(f"Modelled{few}: {times}.")
    if rows and rows[0]["differs_in"]:
        parts.append(f"{rows[0]['kernel']} differs most between GPUs, in {rows[0]['differs_in']}.")
    return " ".join(parts)


def _sum_times(
    report: Report,
    targets: Sequence[str],
    rows: Sequence[wire.MatrixRow],
    metric: Literal["bound_us", "modelled_us"],
) -> tuple[list[str], list[tuple[str, float]]]:
    """The kernels with a time on all GPUs, and by GPU their sum, the least first."""
    calls = {kernel.id: kernel.calls for kernel in report.kernels}
    times: dict[tuple[str, str], float] = {}
    for cell in report.matrix:
        us = getattr(cell, metric)
        if us is not None:
            times[cell.kernel, cell.target] = us * calls.get(cell.kernel, 1)
    kernels = [row["kernel"] for row in rows if all((row["kernel"], t) in times for t in targets)]
    totals = [(target, sum(times[kernel, target] for kernel in kernels)) for target in targets]
    return kernels, sorted(totals, key=lambda item: item[1])


def _sum_errors(report: Report, kernels: Sequence[str]) -> dict[str, float]:
    """By GPU what these kernels are off together at most, in µs; none where one is not known.

    Their errors are added up: what a model does not know of one kernel, it may not of the others.
    """
    calls = {kernel.id: kernel.calls for kernel in report.kernels}
    errors: dict[str, float] = {}
    unknown = set()
    for cell in report.matrix:
        if cell.kernel not in kernels or cell.modelled_us is None:
            continue
        if cell.modelled_error is None:
            unknown.add(cell.target)
            continue
        us = cell.modelled_us * calls.get(cell.kernel, 1) * cell.modelled_error
        errors[cell.target] = errors.get(cell.target, 0.0) + us
    return {target: us for target, us in errors.items() if target not in unknown}


def _tell_error(off_us: float | None, time_us: float) -> str:
    return "error not measured" if off_us is None else f"± {format_percent(off_us, time_us)}"


def _cell(cell: MatrixCell | None) -> wire.MatrixCell | None:
    if cell is None:
        return None
    counts = ((cell.warps, "warp"), (cell.stages, "stage"))
    words = [cell.choice, *(plural(count, noun) for count, noun in counts if count is not None)]
    return convert_row(wire.MatrixCell, cell, id=cell.config, choice=", ".join(filter(None, words)))


PANE = Pane("matrix", "Matrix", document, question="time")

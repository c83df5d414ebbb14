"""The roofline pane: the least time of each kernel on its GPU, and what sets it."""

from __future__ import annotations

from workbench.report import Report
from workbench.report.machine_rows import KernelRoofline
from workbench.views.blocks import Block, Column, Grid, Note, Pane
from workbench.views.limits import Limits, cut
from workbench.views.panes.missing import missing, omitted
from workbench.views.units import ABSENT, bytes_text, count_text, number_text, seconds_text

LINE = 'wb.aot_compile(fn, args, target="h100")'
MODEL = (
    "The roofline is a model: every byte moves once at full bandwidth, and nothing else costs "
    "time. A kernel can be slower than that, and faster only out of the cache."
)
_NOTHING = (
    f"A roofline needs a GPU. `{LINE}` compiles for one that does not have to be here, and "
    "estimates the least time of every kernel on it."
)


def pane(report: Report, limits: Limits) -> Pane:
    """What bounds each kernel, the longest first."""
    nothing = empty(report)
    if nothing is not None:
        return Pane("roofline", "Roofline", (nothing,))
    rows = sorted(report.roofline, key=lambda row: -(row.measured_us or row.bound_us or 0.0))
    shown, more = cut(rows, limits.rows, "roofline")
    columns = (
        Column("Kernel", "kernel"),
        Column("GPU", "code"),
        Column("Moved", "number"),
        Column("FLOPs", "number"),
        Column("FLOPs per byte", "number"),
        Column("Bound by"),
        Column("Least time (estimate)", "number"),
        Column("Measured", "number"),
        Column("Remark"),
    )
    grid = Grid("Kernels", columns, tuple(_row(row) for row in shown), "roofline", more)
    blocks: list[Block] = [Note("A model.", MODEL), grid, *omitted(report, "roofline")]
    return Pane("roofline", "Roofline", tuple(blocks))


def empty(report: Report) -> Note | None:
    """Why no kernel lies under a roof, or None."""
    if len(report.roofline):
        return None
    if not len(report.kernels):
        return missing(report, "kernels", "No roofline.", "There is no kernel to place under it.")
    return missing(report, "roofline", "No roofline.", _NOTHING)


def _row(row: KernelRoofline) -> tuple[object, ...]:
    return (
        row.kernel,
        row.target,
        bytes_text(row.moved_bytes),
        count_text(row.flops),
        number_text(row.intensity, "amount"),
        row.bound or ABSENT,
        _seconds(row.bound_us),
        "not measured" if row.measured_us is None else _seconds(row.measured_us),
        row.note or "",
    )


def _seconds(microseconds: float | None) -> str:
    return seconds_text(None if microseconds is None else microseconds * 1e-6)

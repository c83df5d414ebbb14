"""The roofline: the least time of each kernel on its GPU, and what sets it."""

from __future__ import annotations

from workbench.report import Report
from workbench.views.panes.pane import Content, Pane, ViewContext, missing, tell_cost
from workbench.views.wire.codec import convert_row
from workbench.views.wire.gpu_messages import Roof, RooflinePoint
from workbench.views.wire.report_messages import Note

_LINE = 'wb.aot_compile(fn, args, target="h100")'
_NOTHING = (
    f"A roofline needs a GPU. `{_LINE}` compiles for one that does not have to be here, and "
    "estimates the least time of every kernel on it."
)


def document(report: Report, context: ViewContext) -> Content:
    """The roof of each GPU, and every kernel under it."""
    data = {"roofs": _roofs(report), "points": _points(report)}
    return Content(data, empty=_empty(report))


def _empty(report: Report) -> Note | None:
    """Why no kernel lies under a roof, or None."""
    if len(report.roofline):
        return None
    if not len(report.kernels):
        return missing(report, "kernels", "No roofline.", "There is no kernel to place under it.")
    return missing(report, "roofline", "No roofline.", _NOTHING + tell_cost(report))


def _roofs(report: Report) -> list[Roof]:
    """The roof of each GPU, with the peak rates that its kernels are measured against."""
    by_gpu: dict[str, Roof] = {}
    rates: dict[str, dict[str, float]] = {}
    for row in report.roofline:
        if row.bandwidth_gbs is None:
            continue
        here: Roof = {"target": row.target, "bandwidth_gbs": row.bandwidth_gbs, "rates": []}
        by_gpu.setdefault(row.target, here)
        if row.rate is not None and row.rate_tflops is not None:
            rates.setdefault(row.target, {})[row.rate] = row.rate_tflops
    for target, known in rates.items():
        by_gpu[target]["rates"] = sorted(known.items(), key=lambda item: -item[1])
    return list(by_gpu.values())


def _points(report: Report) -> list[RooflinePoint]:
    """Every kernel under the roof of its GPU, with its part of the time of all calls.

    The time is the measured one where all kernels of the GPU have one, else the bound.
    """
    calls = {kernel.id: kernel.calls for kernel in report.kernels}
    rows = list(report.roofline)
    measured = {row.target for row in rows} - {
        row.target for row in rows if row.measured_us is None and row.bound_us is not None
    }
    times = [
        ((row.measured_us if row.target in measured else row.bound_us) or 0.0)
        * calls.get(row.kernel, 1)
        for row in rows
    ]
    totals: dict[str, float] = {}
    for row, time in zip(rows, times, strict=True):
        totals[row.target] = totals.get(row.target, 0.0) + time
    shares = (time / (totals[row.target] or 1.0) for row, time in zip(rows, times, strict=True))
    return [
        convert_row(RooflinePoint, row, share=round(share, 4))
        for row, share in zip(rows, shares, strict=True)
    ]


PANE = Pane("roofline", "Roofline", document)

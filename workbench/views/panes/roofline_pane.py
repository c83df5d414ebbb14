"""The roofline: the least time of each kernel on its GPU or its CPU, and what sets it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from workbench.analysis.cost.identical_kernels import grouped
from workbench.analysis.gpu_model.roofline import list_host_rooflines
from workbench.number_text import format_percent, plural
from workbench.report import Report
from workbench.report.machine_rows import KernelRoofline
from workbench.views.panes.kernels_pane import FAR_BELOW
from workbench.views.panes.pane import Content, Pane, ViewContext, missing, tell_cost
from workbench.views.wire.codec import convert_row, shorten
from workbench.views.wire.gpu_messages import Roof, RooflinePoint
from workbench.views.wire.report_messages import Note

ON_THE_ROOF, ABOVE_IT = 0.9, 1.1
"""Between these parts of the roof, nothing is left to gain in a kernel but to do less work."""
_UNMEASURED = (
    "Nothing was measured, and the peak rates of this CPU are unknown. A profile measures the "
    "kernels and the peak rates."
)
_NO_RATES = (
    "The kernels were measured, but not the peak rates of this CPU. A new profile measures the "
    "kernels and the rates."
)
_ELSEWHERE = " For a GPU target (needs no GPU here), every kernel has an estimated roofline time."
_BY_SHEET = "rates of the GPU's data sheet"
_BY_PROFILE = "rates measured by the profile (triad, float32 GEMM)"


def document(report: Report, context: ViewContext) -> Content:
    """The roof of each GPU, or of the CPU, and every kernel under it."""
    rows = list(report.roofline) or list_host_rooflines(report)
    points = _points(report, rows)
    same = {kernel.id: group[0].id for group in grouped(report) for kernel in group}
    data = {"roofs": _roofs(rows, points, same), "points": points}
    return Content(data, empty=None if rows else _empty(report))


def _empty(report: Report) -> Note:
    """Why no kernel lies under a roof."""
    if not len(report.kernels):
        return missing(report, "kernels", "No roofline.", "There are no kernels.")
    is_timed = any(kernel.time_us is not None for kernel in report.kernels)
    text = (_NO_RATES if is_timed else _UNMEASURED) + _ELSEWHERE
    return missing(report, "roofline", "No roofline.", text + tell_cost(report))


def _roofs(
    rows: Sequence[KernelRoofline], points: Sequence[RooflinePoint], same: Mapping[str, str]
) -> list[Roof]:
    """The roof of each device, with the peak rates that its kernels are measured against."""
    by_name: dict[str, Roof] = {}
    rates: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.bandwidth_gbs is None:
            continue
        own = [point for point in points if point["target"] == row.target]
        here: Roof = {
            "target": row.target,
            "bandwidth_gbs": row.bandwidth_gbs,
            "rates": [],
            "sentence": _summarize(own, same),
            "source": _BY_PROFILE if row.target == "host" else _BY_SHEET,
        }
        by_name.setdefault(row.target, here)
        if row.rate is not None and row.rate_tflops is not None:
            rates.setdefault(row.target, {})[row.rate] = row.rate_tflops
    for target, by_rate in rates.items():
        by_name[target]["rates"] = sorted(by_rate.items(), key=lambda item: -item[1])
    return list(by_name.values())


def _summarize(points: Sequence[RooflinePoint], same: Mapping[str, str]) -> str:
    """The kernel with most time, how near to its roof it is, and how many sit on theirs.

    `same` has the first of identical kernels by each of them: they count as one, as in the table of
    kernels.
    """
    shares: defaultdict[str, float] = defaultdict(float)
    for point in points:
        shares[same.get(point["kernel"], point["kernel"])] += point["share"]
    first, share = max(shares.items(), key=lambda item: item[1])
    own = [point for point in points if first in (point["kernel"], same.get(point["kernel"]))]
    most = own[0]
    reached = 1.0 if most["of_roof"] is None else most["of_roof"]
    bound = f", bound by {most['bound']}" if most["bound"] and reached >= FAR_BELOW else ""
    timed = [point for point in points if point["of_roof"] is not None]
    time = "the time" if timed else "the roofline time"
    like = plural(len(own) - 1, "identical kernel")
    who = f"{first} takes" if len(own) == 1 else f"{first} and {like} take"
    text = f"{who} {format_percent(share, 1)} of {time}{bound}"
    if not timed:
        return f"{text}. No times were measured: every point is an estimate on the roofline."
    if most["of_roof"] is not None and len(own) == 1:
        text += f", at {format_percent(most['of_roof'], 1)} of the roofline"
    parts = [point["of_roof"] or 0.0 for point in timed]
    on = sum(ON_THE_ROOF <= part <= ABOVE_IT for part in parts)
    above = sum(part > ABOVE_IT for part in parts)
    whole = plural(len(timed), "kernel")
    if on:
        is_are, it = ("is", "it") if on == 1 else ("are", "them")
        text += f". {on} of {whole} {is_are} at the roofline: only less work would make {it} faster"
    if above:
        # a roof is measured too: beside other programs it comes out lower than it is
        is_are = "is" if above == 1 else "are"
        text += f". {above} of {whole} {is_are} above the roofline: "
        text += "the data was cached, or the roofline is too low"
    if not on and not above:
        text += f". No measured kernel (of {len(timed)}) is at the roofline"
    return f"{text}."


def _points(report: Report, rows: Sequence[KernelRoofline]) -> list[RooflinePoint]:
    """Every kernel under the roof of its device, with its part of the time of all calls.

    The time is the measured one where all kernels of the device have one, else the bound.
    """
    calls = {kernel.id: kernel.calls for kernel in report.kernels}
    measured = {row.target for row in rows} - {
        row.target for row in rows if row.measured_us is None and row.bound_us is not None
    }
    times = [
        ((row.measured_us if row.target in measured else row.bound_us) or 0.0)
        * calls.get(row.kernel, 1)
        for row in rows
    ]
    totals: dict[str, float] = defaultdict(float)
    for row, time in zip(rows, times, strict=True):
        totals[row.target] += time
    return [
        convert_row(
            RooflinePoint,
            row,
            share=shorten(time / (totals[row.target] or 1.0)),
            of_roof=_measure_against_roof(row),
        )
        for row, time in zip(rows, times, strict=True)
    ]


def _measure_against_roof(row: KernelRoofline) -> float | None:
    """The least time by the measured one; more than 1 is faster than memory allows."""
    if not row.measured_us or row.bound_us is None:
        return None
    return float(f"{row.bound_us / row.measured_us:.3g}")


PANE = Pane("roofline", "Roofline", document, question="time")

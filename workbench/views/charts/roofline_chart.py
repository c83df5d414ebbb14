"""The roofline chart: what each kernel can reach on its GPU, over its operations per byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.errors import UsageError
from workbench.number_text import format_us, number_text, plural
from workbench.report import Kernel, Report
from workbench.report.machine_rows import KernelRoofline
from workbench.views.kit.sheet import FAINT, INK, KERNEL_COLOURS, NONE, RULE, sheet
from workbench.views.words.record_words import few_words, list_kernel_ops

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

MOST = 18  # kernels in the list beside the chart
_LETTERS = 24
_COLOURS = {"memory": KERNEL_COLOURS[0], "compute": KERNEL_COLOURS[1]}
_PLACES = (  # of a label beside its point: offset in points, where the text begins
    *((7, -4, "left", "top"), (0, 8, "center", "bottom"), (-7, 4, "right", "bottom")),
    *((0, -8, "center", "top"), (9, 0, "left", "center"), (9, -16, "left", "top")),
    *((0, 20, "center", "bottom"), (-9, 16, "right", "bottom"), (24, -4, "left", "top")),
)


def draw(report: Report) -> Figure:
    """The kernels of the first GPU under its roofs: at the bound, and where they were measured."""
    target = report.roofline[0].target
    rows = [row for row in report.roofline if row.target == target]
    drawn = [row for row in rows if row.intensity and row.attainable_tflops]
    if not drawn:
        raise UsageError(
            "Nothing to draw for 'roofline': no kernel has both bytes and operations. "
            "report.frame('roofline') has the reasons."
        )
    with sheet(4.4) as (figure, axes):
        _roofs(axes, drawn)
        for row in drawn:
            _point(axes, row)
        kernels = {kernel.id: kernel for kernel in report.kernels}
        _list(figure, rows, kernels)
        axes.set_xlabel("FLOP per byte of DRAM traffic")
        axes.set_ylabel("TFLOP/s", color=INK)
        left_out = len(rows) - len(drawn)
        more = f"; {plural(left_out, 'kernel')} without operations" if left_out else ""
        axes.set_title(f"Roofline of {target} (estimate){more}")
        _label(figure, axes, drawn)
    return figure


def _roofs(axes: Axes, rows: list[KernelRoofline]) -> None:
    """The slope of the memory, and a level for each rate that a kernel computes at."""
    rates = {row.rate: row.rate_tflops for row in rows if row.rate and row.rate_tflops}
    slope = (rows[0].bandwidth_gbs or 0.0) / 1e3
    xs = [row.intensity or 1.0 for row in rows]
    low = min(*xs, 1.0) / 2
    high = max(*xs, *(rate / slope for rate in rates.values())) * 6
    top = max(rates.values())
    axes.loglog([low, top / slope], [low * slope, top], color="#808b98", linewidth=1.2, zorder=1)
    memory = number_text((rows[0].bandwidth_gbs or 0.0) * 1e9, "bytes_per_second")
    axes.text(low * 1.1, low * slope * 3.6, memory, fontsize=8, color=FAINT, va="bottom")
    for name, rate in rates.items():
        axes.loglog([rate / slope, high], [rate, rate], color="#808b98", linewidth=1.2, zorder=1)
        axes.loglog([rate / slope] * 2, [low * slope / 2, rate], color=RULE, linewidth=0.8)
        kind, _, dtype = name.partition(".")
        words = f"{dtype} {kind} {number_text(rate * 1e12, 'flops_per_second')}"
        axes.text(high, rate * 1.12, words, fontsize=8, color=FAINT, ha="right", va="bottom")
    axes.set_xlim(low, high * 1.1)
    lowest = min(_reached(row) or row.attainable_tflops or 1.0 for row in rows)
    axes.set_ylim(min(low * slope, lowest) / 2, top * 3)
    axes.minorticks_off()


def _point(axes: Axes, row: KernelRoofline) -> None:
    colour = _COLOURS.get(row.bound or "", FAINT)
    x, y = row.intensity or 0.0, row.attainable_tflops or 0.0
    reached = _reached(row)
    axes.plot(x, y, "o", markersize=6, markerfacecolor=NONE, markeredgecolor=colour, zorder=3)
    if reached is not None:
        axes.plot([x, x], [reached, y], color=colour, linewidth=0.8, zorder=2)
        axes.plot(x, reached, "o", markersize=6, color=colour, zorder=3)


def _reached(row: KernelRoofline) -> float | None:
    """What a kernel was measured to do, in 10^12 operations per second."""
    if not row.measured_us or not row.flops:
        return None
    return row.flops / row.measured_us / 1e6


def _list(figure: Figure, rows: list[KernelRoofline], kernels: dict[str, Kernel]) -> None:
    """The kernels beside the chart, the longest first."""
    from matplotlib.lines import Line2D

    def dot(face: str, edge: str) -> Line2D:
        return Line2D([], [], ls="", marker="o", markerfacecolor=face, markeredgecolor=edge)

    groups: dict[tuple[str, str], list[KernelRoofline]] = {}
    for row in sorted(rows, key=lambda row: -(row.measured_us or row.bound_us or 0.0)):
        what = few_words(list_kernel_ops(kernels[row.kernel]).split(", "), _LETTERS)
        time = format_us(row.bound_us if row.measured_us is None else row.measured_us)
        groups.setdefault((what, time), []).append(row)
    handles, words = [], []
    for (what, time), same in list(groups.items())[:MOST]:
        colour = _COLOURS.get(same[0].bound or "", FAINT)
        face = NONE if same[0].measured_us is None else colour
        handles.append(dot(face, colour))
        words.append(f"{few_words([row.kernel for row in same], 12)}  {what}  {time}")
    if len(groups) > MOST:
        handles.append(Line2D([], [], linestyle=""))
        words.append(f"{sum(map(len, list(groups.values())[MOST:]))} more")
    how = "Measured" if any(row.measured_us for row in rows) else "Roofline"
    legend = figure.legend(
        handles, words, loc="outside right upper", frameon=False, fontsize=8, title=f"{how} time"
    )
    legend.set_alignment("left")
    legend.get_title().set_fontsize(8)
    figure.axes[0].legend(
        [dot(NONE, colour) for colour in _COLOURS.values()],
        [f"bound by {name}" for name in _COLOURS],
        loc="lower right",
        fontsize=8,
        frameon=False,
    )


def _label(figure: Figure, axes: Axes, rows: list[KernelRoofline]) -> None:
    """Name the points wherever their names fit beside one another; the list has all of them."""
    figure.draw_without_rendering()  # fixes the layout, so that places of texts are known
    boxes = [text.get_window_extent() for text in axes.texts]
    legend = axes.get_legend()
    boxes += [] if legend is None else [legend.get_window_extent()]
    boxes += [_mark(axes, row, y) for row in rows for y in (row.attainable_tflops, _reached(row))]
    for (x, y), names in _clusters(rows):
        label = few_words(names, 14)
        for across, up, ha, va in _PLACES:
            text = axes.annotate(
                label,
                (x, y),
                (across, up),
                textcoords="offset points",
                ha=ha,
                va=va,
                fontsize=8,
                color=INK,
            )
            box = text.get_window_extent()
            corners = ((box.x0, box.y0), (box.x1, box.y1))
            is_inside = all(axes.bbox.contains(*corner) for corner in corners)
            if is_inside and not any(box.overlaps(other) for other in boxes):
                boxes.append(box)
                break
            text.remove()


def _mark(axes: Axes, row: KernelRoofline, y: float | None) -> Bbox:
    """Where a point is drawn, in pixels."""
    from matplotlib.transforms import Bbox

    across, up = axes.transData.transform((row.intensity or 1.0, y or row.attainable_tflops or 1.0))
    return Bbox.from_bounds(across - 5, up - 5, 10, 10)


def _clusters(rows: list[KernelRoofline]) -> Iterator[tuple[tuple[float, float], list[str]]]:
    """Points that lie on one another are named together: within 4 % of their place."""
    clusters: list[tuple[tuple[float, float], list[str]]] = []
    for row in rows:
        x, y = row.intensity or 0.0, row.attainable_tflops or 0.0
        for (left, below), names in clusters:
            if abs(x / left - 1) < 0.04 and abs(y / below - 1) < 0.04:
                names.append(row.kernel)
                break
        else:
            clusters.append(((x, y), [row.kernel]))
    yield from clusters

"""Horizontal bars: kernels, traffic, fusion, the autotuner's choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.analysis.fusion.fusion import (
    KernelTraffic,
    traffic_before_and_after,
    traffic_by_kernel,
)
from workbench.analysis.fusion.kinds import kernel_kinds, kernel_marks
from workbench.analysis.fusion.traffic import moved_bytes
from workbench.errors import UsageError
from workbench.report import Kernel, Report
from workbench.views.charts.flow import few_words
from workbench.views.charts.sheet import FAINT, PALE, sheet, short, unit_of
from workbench.views.words.palette import KERNEL_COLOURS
from workbench.views.words.places import ops_of
from workbench.views.words.units import bytes_text, percent_text, seconds_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 25  # bars; more cannot be read
_ROW = 0.26  # inches
_LABEL = 34  # characters
_READ, _WRITTEN = KERNEL_COLOURS[0], KERNEL_COLOURS[1]


def kernels(report: Report) -> Figure:
    """The slowest kernels when they were measured, else those that move most."""
    is_timed = any(kernel.time_us is not None for kernel in report.kernels)
    ranked = sorted(report.kernels, key=lambda k: -_weight(k, is_timed=is_timed))
    shown = ranked[:MOST]
    kinds, marks = kernel_kinds(report), kernel_marks(report)
    values = [_weight(kernel, is_timed=is_timed) for kernel in shown]
    size, unit = (1.0, "µs") if is_timed else unit_of(max(values, default=0))
    with sheet(_height(len(shown))) as (figure, axes):
        names = [_name(kernel, kinds[kernel.id]) for kernel in shown]
        drawn = axes.barh(_rows(axes, names), [value / size for value in values], height=0.7)
        for bar, kernel in zip(drawn, shown, strict=True):
            _dress(bar, marks[kernel.id])
        words = [seconds_text(value * 1e-6) if is_timed else bytes_text(value) for value in values]
        _finish(axes, [value / size for value in values], words, unit)
        what = (
            "Measured time of each kernel" if is_timed else "Bytes moved by each kernel (estimate)"
        )
        axes.set_title(_title(what, len(ranked), "most first"))
    return figure


def traffic(report: Report) -> Figure:
    """What each kernel reads and writes, the total before and after fusion in the title."""
    ranked = sorted(report.kernels, key=lambda k: -(moved_bytes(k) or 0))
    shown = ranked[:MOST]
    moved = [moved_bytes(kernel) or 0 for kernel in shown]
    size, unit = unit_of(max(moved, default=0))
    reads = [(k.bytes_read or 0) * max(k.calls, 1) / size for k in shown]
    writes = [(k.bytes_written or 0) * max(k.calls, 1) / size for k in shown]
    kinds = kernel_kinds(report)
    with sheet(_height(len(shown))) as (figure, axes):
        names = [_name(kernel, kinds[kernel.id]) for kernel in shown]
        rows = _rows(axes, names)
        axes.barh(rows, reads, height=0.7, color=_READ, label="read")
        axes.barh(rows, writes, left=reads, height=0.7, color=_WRITTEN, label="written")
        _finish(axes, [m / size for m in moved], [bytes_text(m) for m in moved], unit)
        figure.legend(frameon=False, loc="outside lower right", ncols=2)
        total = traffic_before_and_after(report)
        change = ""
        if total is not None:
            before, after = total
            less = percent_text(after - before, before)
            change = f": {bytes_text(before)} → {bytes_text(after)} through fusion ({less})"
        axes.set_title(_title(f"DRAM traffic (estimate){change}", len(ranked), "most first"))
    return figure


def fusion(report: Report) -> Figure:
    """The groups that fusion changed, by what it saved: their operations alone, and together."""
    groups = [
        group for group in traffic_by_kernel(report) if group.bytes_alone != group.bytes_fused
    ]
    if not groups:
        raise UsageError("Nothing to draw for 'fusion': it changed the traffic of no group.")
    shown = groups[:MOST]
    size, unit = unit_of(max(max(group.bytes_alone, group.bytes_fused) for group in shown))
    by_id = {kernel.id: kernel for kernel in report.kernels}
    names = [_of_group(group, by_id.get(group.kernel or "")) for group in shown]
    with sheet(_height(len(shown))) as (figure, axes):
        before = [group.bytes_alone / size for group in shown]
        rows = _rows(axes, names)
        axes.barh(rows, before, height=0.75, color=PALE, label="each operation alone")
        after = [group.bytes_fused / size for group in shown]
        axes.barh(rows, after, height=0.4, color=_READ, label="fused")
        words = [f"{bytes_text(g.bytes_alone)} → {bytes_text(g.bytes_fused)}" for g in shown]
        _finish(axes, [max(pair) for pair in zip(before, after, strict=True)], words, unit)
        figure.legend(frameon=False, loc="outside lower right", ncols=2)
        what = "DRAM traffic of each group before and after fusion (estimate)"
        axes.set_title(_title(what, len(groups), "greatest saving first"))
    return figure


def autotune(report: Report) -> Figure:
    """Every choice that was timed, by operator."""
    timed = [choice for choice in report.autotune if choice.time_ms is not None]
    if not timed:
        raise UsageError("Nothing to draw for 'autotune': no choice has a time.")
    shown = timed[:MOST]
    with sheet(_height(len(shown))) as (figure, axes):
        names = [f"{short(c.op, 26)}  {short(c.choice, 22)}" for c in shown]
        colours = [KERNEL_COLOURS[2] if choice.chosen else PALE for choice in shown]
        values = [choice.time_ms or 0.0 for choice in shown]
        axes.barh(_rows(axes, names), values, height=0.7, color=colours)
        _finish(axes, values, [seconds_text(value * 1e-3) for value in values], "ms")
        axes.set_title(
            _title("Choices timed by the autotuner; the chosen ones are green", len(timed), "")
        )
    return figure


def _of_group(group: KernelTraffic, kernel: Kernel | None) -> str:
    what = group.name if kernel is None else ops_of(kernel)
    times = f" × {group.groups}" if group.groups > 1 else ""
    return f"{few_words(what.split(', '), _LABEL)}{times}  {group.kernel or ''}".rstrip()


def _rows(axes: Axes, names: Sequence[str]) -> list[int]:
    """The rows of the bars; two bars may have one name."""
    rows = list(range(len(names)))
    axes.set_yticks(rows, names)
    return rows


def _weight(kernel: Kernel, *, is_timed: bool) -> float:
    return (kernel.time_us or 0.0) if is_timed else float(moved_bytes(kernel) or 0)


def _name(kernel: Kernel, kind: str) -> str:
    times = f" × {kernel.calls}" if kernel.calls > 1 else ""
    what = ops_of(kernel)
    if kernel.language == "extern":
        name = kernel.name.removeprefix("torch.ops.aten.").removesuffix(".default")
        what = f"{name.rpartition('.')[2]} ({kind})"
    return f"{few_words(what.split(', '), _LABEL)}{times}  {kernel.id}"


def _dress(bar: object, mark: str) -> None:
    """Generated kernels in their colour, library calls and fallbacks as outlines."""
    from matplotlib.patches import Rectangle

    assert isinstance(bar, Rectangle)
    if mark.startswith("g"):
        bar.set_facecolor(KERNEL_COLOURS[int(mark[1:])])
    else:
        bar.set_facecolor("#ffffff")
        bar.set_edgecolor("#808b98")
        bar.set_linestyle("--" if mark == "fb" else "-")


def _finish(axes: Axes, values: Sequence[float], words: Sequence[str], unit: str) -> None:
    """The number at the end of each bar, the first bar on top, room for both."""
    most = max(values, default=0.0) or 1.0
    for row, (value, word) in enumerate(zip(values, words, strict=True)):
        axes.text(value + 0.008 * most, row, word, va="center", fontsize=8, color=FAINT)
    axes.set_xlim(0, most * 1.2)
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(unit)


def _height(rows: int) -> float:
    return max(1.7, _ROW * rows + 0.9)


def _title(title: str, count: int, order: str) -> str:
    if count <= MOST:
        return title
    more = f"{MOST} of {count}" + (f", {order}" if order else "")
    return f"{title}\n{more}"

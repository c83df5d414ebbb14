"""Horizontal bars: kernels, traffic, fusion, the autotuner's choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from workbench.analysis.cost.costs import CostKind, choose_cost
from workbench.analysis.fusion.fusion import (
    KernelTraffic,
    kernel_kinds,
    list_before_fusion,
    list_saved_traffic,
    mark_kernels,
)
from workbench.analysis.fusion.traffic import count_moved_bytes, measure_fusion_traffic
from workbench.errors import UsageError
from workbench.number_text import format_bytes, format_ms, format_percent, format_us
from workbench.report import Kernel, Report
from workbench.views.kit.sheet import FAINT, KERNEL_COLOURS, NONE, PALE, sheet, unit_of
from workbench.views.words.record_words import few_words, list_kernel_ops, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 25  # bars; more cannot be read
_ROW = 0.26  # inches
_LABEL = 34  # characters
_COSTS: Mapping[CostKind, str] = {
    "time": "Measured time of each kernel",
    "bound": "Roofline time of each kernel (estimate)",
    "bytes": "Bytes moved by each kernel (estimate)",
    "memory": "Bytes of each kernel that are live at the memory peak",
}
_READ, _WRITTEN = KERNEL_COLOURS[0], KERNEL_COLOURS[1]


def kernels(report: Report) -> Figure:
    """The kernels that cost most: by measured time, else by the model's bound, else by bytes."""
    cost = choose_cost(report)
    kind: CostKind = "bytes" if cost is None else cost.kind
    by_kernel = {} if cost is None else cost.by_kernel
    ranked = sorted(report.kernels, key=lambda k: -by_kernel.get(k.id, 0.0))
    shown = ranked[:MOST]
    marks, names = mark_kernels(report), _names(report, shown)
    values = [by_kernel.get(kernel.id, 0.0) for kernel in shown]
    size, unit = unit_of(max(values, default=0)) if kind == "bytes" else (1.0, "µs")
    words = [format_bytes(value) if kind == "bytes" else format_us(value) for value in values]
    sizes = [value / size for value in values]
    title = _title(_COSTS[kind], len(ranked), "most first")
    with _chart(names, sizes, words, unit, title) as (figure, axes, rows):
        for bar, kernel in zip(axes.barh(rows, sizes, height=0.7), shown, strict=True):
            _dress(bar, marks[kernel.id])
    return figure


def traffic(report: Report) -> Figure:
    """What each kernel reads and writes, the total before and after fusion in the title."""
    ranked = sorted(report.kernels, key=lambda k: -(count_moved_bytes(k) or 0))
    shown = ranked[:MOST]
    moved = [count_moved_bytes(kernel) or 0 for kernel in shown]
    size, unit = unit_of(max(moved, default=0))
    reads = [(k.bytes_read or 0) * max(k.calls, 1) / size for k in shown]
    writes = [(k.bytes_written or 0) * max(k.calls, 1) / size for k in shown]
    groups, change = measure_fusion_traffic(report), ""
    if groups is not None:
        before, after = list_before_fusion(report)[0], groups.after
        less = format_percent(after - before.bytes, before.bytes)
        sizes_text = f"{format_bytes(before.bytes)} → {format_bytes(after)}"
        change = f": {sizes_text} ({less} vs. {before.words})"
    title = _title(f"DRAM traffic (estimate){change}", len(ranked), "most first")
    sizes, words = [m / size for m in moved], [format_bytes(m) for m in moved]
    with _chart(_names(report, shown), sizes, words, unit, title) as (figure, axes, rows):
        axes.barh(rows, reads, height=0.7, color=_READ, label="read")
        axes.barh(rows, writes, left=reads, height=0.7, color=_WRITTEN, label="written")
    return figure


def fusion(report: Report) -> Figure:
    """The groups that fusion changed, by what it saved: what eager moves for them, and together."""
    groups = [
        group for group in list_saved_traffic(report) if group.bytes_before != group.bytes_fused
    ]
    if not groups:
        raise UsageError(
            "Nothing to draw for 'fusion': fusion did not change the traffic of any group."
        )
    shown = groups[:MOST]
    size, unit = unit_of(max(max(group.bytes_before, group.bytes_fused) for group in shown))
    by_id = {kernel.id: kernel for kernel in report.kernels}
    names = [_of_group(group, by_id.get(group.kernel or "")) for group in shown]
    before = [group.bytes_before / size for group in shown]
    after = [group.bytes_fused / size for group in shown]
    words_before = list_before_fusion(report)[0].words
    words = [f"{format_bytes(g.bytes_before)} → {format_bytes(g.bytes_fused)}" for g in shown]
    what = "DRAM traffic of each group before and after fusion (estimate)"
    title = _title(what, len(groups), "greatest saving first")
    with _chart(names, list(map(max, before, after)), words, unit, title) as (figure, axes, rows):
        axes.barh(rows, before, height=0.75, color=PALE, label=words_before)
        bars = axes.barh(rows, after, height=0.4, color=_READ, label="fused")
        worse = [bar for bar, row in zip(bars, shown, strict=True) if row.why_more is not None]
        for number, bar in enumerate(worse):
            bar.set(color=_WRITTEN, label="" if number else "fusion increases its traffic")
    return figure


def autotune(report: Report) -> Figure:
    """Every choice that was timed, by operator."""
    timed = [choice for choice in report.autotune if choice.time_ms is not None]
    if not timed:
        raise UsageError("Nothing to draw for 'autotune': no choice has a time.")
    shown = timed[:MOST]
    names = [f"{short(c.op, 26)}  {short(c.choice, 22)}" for c in shown]
    colours = [KERNEL_COLOURS[2] if choice.chosen else PALE for choice in shown]
    values = [choice.time_ms or 0.0 for choice in shown]
    words = [format_ms(value) for value in values]
    title = _title("Choices timed by the autotuner (green: chosen)", len(timed), "")
    with _chart(names, values, words, "ms", title) as (figure, axes, rows):
        axes.barh(rows, values, height=0.7, color=colours)
    return figure


@contextmanager
def _chart(
    names: Sequence[str], values: Sequence[float], words: Sequence[str], unit: str, title: str
) -> Iterator[tuple[Figure, Axes, list[int]]]:
    """The rows of bars: the first on top, a number at the end of each, room for both."""
    with sheet(max(1.7, _ROW * len(names) + 0.9)) as (figure, axes):
        rows = list(range(len(names)))
        axes.set_yticks(rows, names)  # two bars may have one name
        yield figure, axes, rows
        most = max(values, default=0.0) or 1.0
        for row, (value, word) in enumerate(zip(values, words, strict=True)):
            axes.text(value + 0.008 * most, row, word, va="center", fontsize=8, color=FAINT)
        axes.set_xlim(0, most * 1.2)
        axes.locator_params(axis="x", prune="upper")  # at the edge its label is cut off
        axes.set_ylim(len(values) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(unit)
        if axes.get_legend_handles_labels()[1]:
            figure.legend(frameon=False, loc="outside lower right", ncols=2)
        axes.set_title(title)


def _of_group(group: KernelTraffic, kernel: Kernel | None) -> str:
    what = group.name if kernel is None else list_kernel_ops(kernel)
    times = f" × {group.groups}" if group.groups > 1 else ""
    return f"{few_words(what.split(', '), _LABEL)}{times}  {group.kernel or ''}".rstrip()


def _names(report: Report, kernels: Sequence[Kernel]) -> list[str]:
    kinds = kernel_kinds(report)
    return [_name(kernel, kinds[kernel.id]) for kernel in kernels]


def _name(kernel: Kernel, kind: str) -> str:
    times = f" × {kernel.calls}" if kernel.calls > 1 else ""
    what = list_kernel_ops(kernel)
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
        bar.set_facecolor(NONE)
        bar.set_edgecolor("#808b98")
        bar.set_linestyle("--" if mark == "fb" else "-")


def _title(title: str, count: int, order: str) -> str:
    if count <= MOST:
        return title
    more = f"{MOST} of {count}" + (f", {order}" if order else "")
    return f"{title}\n{more}"

"""Charts of a report, drawn with matplotlib, made to be read as printed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from workbench.errors import UsageError, suggest
from workbench.number_text import format_seconds
from workbench.report import Phase, Report
from workbench.report.measures import measure_compile_seconds
from workbench.views.charts import bars, calls_chart, roofline_chart
from workbench.views.gpu_model import matrix_answer
from workbench.views.kit.sheet import INK, KERNEL_COLOURS, sheet
from workbench.views.tuning import ranked_answer
from workbench.views.words.record_words import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW = 0.26  # inches
_LISTED = 8  # phases with their self time
_CHARACTER = 0.0072  # of the width, at 8 points
_NARROWEST = 0.0008  # of the whole: under one pixel


def draw(report: Report) -> Figure:
    """One row for each depth of each thread; names where they fit, the longest in a list."""
    phases = list(report.phases)
    start = min(phase.start_s for phase in phases)
    took = measure_compile_seconds((p.start_s, p.duration_s) for p in phases) or 0.0
    whole = max(phase.start_s + phase.duration_s for phase in phases) - start or 1.0
    charts = group_by_thread(phases, whole * _NARROWEST)
    depths = [max((phase.depth for phase in own), default=0) + 1 for own in charts.values()]
    rows = sum(depths) + len(charts) - 1
    with sheet(_ROW * rows + 0.22 * _LISTED + 1.5) as (figure, axes):
        level = 0
        ticks = []
        for (thread, own), depth in zip(charts.items(), depths, strict=True):
            ticks.append((level, thread))
            for phase in own:
                _bar(axes, phase, level, phase.start_s - start, whole)
            level += depth + 1
        axes.set_ylim(rows - 0.4, -0.6)
        axes.set_xlim(0, whole)
        axes.set_yticks([row for row, _ in ticks], [name for _, name in ticks])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("seconds\n\n" + _longest(report), loc="left", linespacing=1.5)
        axes.set_title(f"Compile timeline, {format_seconds(took)}")
    return figure


def _bar(axes: Axes, phase: Phase, level: int, left: float, whole: float) -> None:
    row, width = level + phase.depth, phase.duration_s
    colour = KERNEL_COLOURS[phase.depth % 8]
    axes.barh(row, width, left=left, height=0.9, color=colour, alpha=0.18, linewidth=0)
    axes.barh(row, width, left=left, height=0.9, fill=False, edgecolor=colour, linewidth=0.6)
    room, duration = int(width / whole / _CHARACTER) - 2, format_seconds(width)
    names = (f"{phase.name} {duration}", phase.name, duration)
    text = next((name for name in names if len(name) <= room), None)
    if text is not None:
        axes.text(left + 0.004 * whole, row, text, va="center", fontsize=8, color=INK, clip_on=True)


def _longest(report: Report) -> str:
    """The phases by self time, as the text twin of the chart."""
    totals: dict[str, float] = defaultdict(float)
    for phase in report.phases:
        totals[phase.name] += phase.self_s
    ranked = sorted(totals.items(), key=lambda item: -item[1])[:_LISTED]
    rows = [f"{format_seconds(own):>9}  {short(name, 60)}" for name, own in ranked]
    return "\n".join(["longest self times, threads added up", *rows])


def group_by_thread(phases: list[Phase], narrowest: float) -> dict[str, list[Phase]]:
    """The phases of at least `narrowest` seconds by thread, the busiest thread first."""
    threads: dict[str, list[Phase]] = defaultdict(list)
    for phase in phases:
        threads[phase.thread].append(phase)
    busiest = sorted(threads.items(), key=lambda item: -sum(phase.self_s for phase in item[1]))
    return {
        thread: [phase for phase in own if phase.duration_s >= narrowest] for thread, own in busiest
    }


_Draw = Callable[[Report], "Figure"]
_CHARTS: Mapping[str, tuple[str, _Draw]] = {  # by name: the table that it needs, who draws it
    "phases": ("phases", draw),
    "fusion": ("scheduler_nodes", bars.fusion),
    "traffic": ("kernels", bars.traffic),
    "kernels": ("kernels", bars.kernels),
    "graph": ("kernels", calls_chart.draw),
    "autotune": ("autotune", bars.autotune),
    "roofline": ("roofline", roofline_chart.draw),
    "matrix": ("matrix", matrix_answer.chart),
    "ranked_configs": ("ranked_configs", ranked_answer.chart),
}


def plot(report: Report, name: str) -> Figure:
    """One chart: `phases`, `fusion`, `traffic`, `kernels`, `graph`, `autotune` or `roofline`.

    Of several GPUs `matrix`; of the kernel that was ranked last `ranked_configs`. Raises
    `UsageError` when there is no chart of that name, or nothing to draw; the message says why.
    """
    if name not in _CHARTS:
        raise UsageError(
            f"Unknown chart {name!r}. Choose one of: {', '.join(_CHARTS)}.{suggest(name, _CHARTS)}"
        )
    table, draw = _CHARTS[name]
    if not len(getattr(report, table)):
        reason = report.why_missing(table) or report.why_missing(name)
        raise UsageError(f"Nothing to draw for {name!r}: {reason or 'this compilation has none'}.")
    return draw(report)

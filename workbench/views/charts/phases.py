"""The timeline of a compilation as a flame chart, with the self times of its phases below."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.report import Phase, Report
from workbench.views.charts.sheet import INK, KERNEL_COLOURS, sheet
from workbench.views.words.places import short
from workbench.views.words.units import seconds_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW = 0.26  # inches
_LISTED = 8  # phases with their self time
_CHARACTER = 0.0072  # of the width, at 8 points
_NARROWEST = 0.0008  # of the whole: under one pixel


@dataclass(frozen=True)
class Bar:
    """One phase of the flame chart; start and width are shares of the whole."""

    name: str
    start: float
    width: float
    depth: int
    duration: str


@dataclass(frozen=True)
class Flame:
    """The timeline of one thread."""

    thread: str
    bars: tuple[Bar, ...]


def draw(report: Report) -> Figure:
    """One row for each depth of each thread; names where they fit, the longest in a list."""
    phases = list(report.phases)
    start = min(phase.start_s for phase in phases)
    whole = max(phase.start_s + phase.duration_s for phase in phases) - start or 1.0
    charts = flames(phases)
    depths = [max((bar.depth for bar in chart.bars), default=0) + 1 for chart in charts]
    rows = sum(depths) + len(charts) - 1
    with sheet(_ROW * rows + 0.22 * _LISTED + 1.5) as (figure, axes):
        level = 0
        ticks = []
        for chart, depth in zip(charts, depths, strict=True):
            ticks.append((level, chart.thread))
            for bar in chart.bars:
                _bar(axes, bar, level, whole)
            level += depth + 1
        axes.set_ylim(rows - 0.4, -0.6)
        axes.set_xlim(0, whole)
        axes.set_yticks([row for row, _ in ticks], [name for _, name in ticks])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("seconds\n\n" + _longest(report), loc="left", linespacing=1.5)
        axes.set_title(f"Compile timeline, {seconds_text(whole)} in all")
    return figure


def _bar(axes: Axes, bar: Bar, level: int, whole: float) -> None:
    row = level + bar.depth
    colour = KERNEL_COLOURS[bar.depth % 8]
    left, width = bar.start * whole, bar.width * whole
    axes.barh(row, width, left=left, height=0.9, color=colour, alpha=0.3, linewidth=0)
    axes.barh(row, width, left=left, height=0.9, fill=False, edgecolor="#ffffff", linewidth=1.2)
    room = int(bar.width / _CHARACTER) - 2
    names = (f"{bar.name} {bar.duration}", bar.name, bar.duration)
    text = next((name for name in names if len(name) <= room), None)
    if text is not None:
        axes.text(left + 0.004 * whole, row, text, va="center", fontsize=8, color=INK, clip_on=True)


def _longest(report: Report) -> str:
    """The phases by self time, as the text twin of the chart."""
    totals: dict[str, float] = defaultdict(float)
    for phase in report.phases:
        totals[phase.name] += phase.self_s
    ranked = sorted(totals.items(), key=lambda item: -item[1])[:_LISTED]
    rows = [f"{seconds_text(own):>9}  {short(name, 60)}" for name, own in ranked]
    return "\n".join(["longest by self time", *rows])


def flames(phases: list[Phase]) -> list[Flame]:
    """One flame chart for each thread, on a common time axis, the busiest thread first."""
    start = min(phase.start_s for phase in phases)
    whole = max(phase.start_s + phase.duration_s for phase in phases) - start or 1.0
    threads: dict[str, list[Phase]] = defaultdict(list)
    for phase in phases:
        threads[phase.thread].append(phase)
    found = []
    for thread, own in sorted(threads.items(), key=lambda item: -sum(p.self_s for p in item[1])):
        bars = tuple(
            Bar(
                phase.name,
                (phase.start_s - start) / whole,
                phase.duration_s / whole,
                phase.depth,
                seconds_text(phase.duration_s),
            )
            for phase in sorted(own, key=lambda phase: (phase.depth, phase.start_s))
            if phase.duration_s / whole >= _NARROWEST
        )
        found.append(Flame(thread, bars))
    return found

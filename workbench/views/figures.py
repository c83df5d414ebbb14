"""Charts of a report, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.analysis.fusion import savings
from workbench.errors import UsageError
from workbench.report import Report
from workbench.views.palette import KERNEL_COLOURS
from workbench.views.panes.timeline import flames
from workbench.views.places import ops_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 25  # bars; more cannot be read


def plot(report: Report, name: str) -> Figure:
    """One chart: `phases`, `kernels`, `fusion` or `autotune`.

    Raises
    ------
    UsageError
        When there is no chart of that name, or nothing to draw; the message says why.
    """
    if name not in _CHARTS:
        raise UsageError(f"There is no chart {name!r}. Take one of: {', '.join(_CHARTS)}.")
    part = "scheduler_nodes" if name == "fusion" else name
    if not len(getattr(report, part)):
        reason = report.why_missing(name) or "this compilation has none"
        raise UsageError(f"Nothing to draw for {name!r}: {reason}.")
    from matplotlib import pyplot  # importing it is what makes a notebook able to show figures

    figure = pyplot.figure(figsize=(9, 4), layout="constrained")
    pyplot.close(figure)  # shown once, as the value of the cell
    axes = figure.add_subplot()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    _CHARTS[name](report, axes)
    return figure


def _phases(report: Report, axes: Axes) -> None:
    level = 0
    phases = list(report.phases)
    start = min(phase.start_s for phase in phases)
    whole = max(phase.start_s + phase.duration_s for phase in phases) - start or 1.0
    for chart in flames(phases):
        for bar in chart.bars:
            row = level + bar.depth
            colour = KERNEL_COLOURS[bar.depth % 8]
            left, width = bar.start * whole, bar.width * whole
            axes.barh(row, width, left=left, height=0.9, color=colour, alpha=0.35)
            if bar.width > 0.012 * len(bar.name):
                axes.text(left + 0.004 * whole, row, bar.name, va="center", fontsize=8)
        level += max((bar.depth for bar in chart.bars), default=0) + 2
    axes.invert_yaxis()
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("seconds")
    axes.set_title("Compile timeline", loc="left")


def _kernels(report: Report, axes: Axes) -> None:
    kernels = list(report.kernels)[:_MOST]
    names = [f"{kernel.id} {_short(ops_of(kernel))}" for kernel in kernels]
    read = [(kernel.bytes_read or 0) / 1e6 for kernel in kernels]
    written = [(kernel.bytes_written or 0) / 1e6 for kernel in kernels]
    axes.barh(names, read, color=KERNEL_COLOURS[0], label="read")
    axes.barh(names, written, left=read, color=KERNEL_COLOURS[1], label="written")
    axes.invert_yaxis()
    axes.set_xlabel("MB")
    axes.legend(frameon=False)
    axes.set_title(_title("Bytes moved by each kernel (estimate)", report.kernels), loc="left")


def _fusion(report: Report, axes: Axes) -> None:
    groups = savings(report)[:_MOST]
    names = [group.kernel or group.name for group in groups]
    axes.barh(names, [g.before / 1e6 for g in groups], color="#b9c0c9", label="unfused")
    axes.barh(
        names, [g.after / 1e6 for g in groups], color=KERNEL_COLOURS[0], label="fused", height=0.45
    )
    axes.invert_yaxis()
    axes.set_xlabel("MB")
    axes.legend(frameon=False)
    axes.set_title("Memory traffic before and after fusion (estimate)", loc="left")


def _autotune(report: Report, axes: Axes) -> None:
    timed = [choice for choice in report.autotune if choice.time_ms is not None][:_MOST]
    names = [f"{choice.op}: {_short(choice.choice)}" for choice in timed]
    colours = [KERNEL_COLOURS[2] if choice.chosen else "#b9c0c9" for choice in timed]
    axes.barh(names, [choice.time_ms or 0.0 for choice in timed], color=colours)
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    axes.set_title("Choices timed by the autotuner; the chosen ones are green", loc="left")


def _short(text: str, limit: int = 36) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _title(title: str, rows: object) -> str:
    count = len(rows)  # type: ignore[arg-type]
    return title if count <= _MOST else f"{title}, first {_MOST} of {count}"


_CHARTS: dict[str, Callable[[Report, Axes], None]] = {
    "phases": _phases,
    "kernels": _kernels,
    "fusion": _fusion,
    "autotune": _autotune,
}

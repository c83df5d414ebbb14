"""The calls of kernels as boxes and what flows between them as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.analysis.fusion.kinds import kernel_marks
from workbench.report import Report
from workbench.views.charts.flow import WIDTH, Flow, flow, short_ops
from workbench.views.charts.sheet import INK, RULE, sheet
from workbench.views.layout import NODE_HEIGHT
from workbench.views.words.palette import KERNEL_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PIXELS = 80.0  # of the layout for an inch


def draw(report: Report) -> Figure:
    """The calls from top to bottom in the order of the data, in columns when there are many."""
    drawn = flow(report)
    marks = kernel_marks(report)
    width = max(drawn.width / _PIXELS + 0.4, 5.0)
    with sheet(drawn.height / _PIXELS + 0.8, width=width) as (figure, axes):
        for line in drawn.far:
            axes.plot(line[::2], line[1::2], color=RULE, linewidth=0.8, zorder=0)
        for line in drawn.lines:
            axes.plot(line[::2], line[1::2], color="#808b98", linewidth=0.9, zorder=1)
        for index in range(len(drawn.calls)):
            _box(axes, drawn, index, marks)
        axes.set_xlim(-10, max(drawn.width, (width - 0.4) * _PIXELS) + 10)
        axes.set_ylim(drawn.height + 10, -10)
        axes.set_axis_off()
        count = len(drawn.calls)
        more = f", first {count} of {count + drawn.left_out} calls" if drawn.left_out else ""
        axes.set_title(f"Calls of kernels and what flows between them{more}")
    return figure


def _box(axes: Axes, drawn: Flow, index: int, marks: dict[str, str]) -> None:
    from matplotlib.patches import Rectangle

    call, (x, y) = drawn.calls[index], drawn.places[index]
    mark = marks[call.kernel.id]
    box = Rectangle(
        (x - WIDTH / 2, y - NODE_HEIGHT / 2),
        WIDTH,
        NODE_HEIGHT,
        facecolor="#ffffff",
        edgecolor=KERNEL_COLOURS[int(mark[1:])] if mark.startswith("g") else "#808b98",
        linestyle="--" if mark == "fb" else "-",
        linewidth=1.3,
        zorder=2,
    )
    axes.add_patch(box)
    axes.text(
        x - WIDTH / 2 + 6,
        y,
        f"{call.kernel.id}  {short_ops(call)}",
        va="center",
        fontsize=8,
        color=INK,
        zorder=3,
    )

"""The calls of kernels as boxes, in layers, in columns when many, with what flows between them.

Besides the chart a small picture of them as SVG, for pages without scripts.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from workbench.analysis.fusion.fusion import KernelCall, calls, mark_kernels
from workbench.number_text import plural
from workbench.report import Report
from workbench.views.kit.sheet import INK, KERNEL_COLOURS, NONE, RULE, sheet
from workbench.views.layout import GAP_Y, NODE_HEIGHT, layered
from workbench.views.words.record_words import few_words, list_kernel_ops

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 176.0
LAYERS = 26  # in one column
MOST = 110  # calls; more cannot be told apart
_GAP = 44.0
_LETTERS = 21
_PAD = 8
_PIXELS = 80.0  # of the layout for an inch


@dataclass(frozen=True)
class Flow:
    """Calls with their centres, and lines between them as points x, y, x, y, …, in pixels.

    `far` are the lines from column to column, to be drawn behind and paler.
    """

    calls: list[KernelCall]
    places: list[tuple[float, float]]
    lines: list[list[float]]
    far: list[list[float]]
    width: float
    height: float
    left_out: int


def flow(report: Report) -> Flow:
    """The picture of the first calls of a report."""
    every = calls(report)
    shown = every[:MOST]
    layout = layered([call.inputs for call in shown], width=WIDTH)
    pitch = NODE_HEIGHT + GAP_Y
    columns = [level // LAYERS for level in layout.level]
    used = max(columns, default=0) + 1
    starts, left = [], 0.0
    for column in range(used):
        inside = [x for x, c in zip(layout.x, columns, strict=True) if c == column]
        first = min(inside, default=0.0) - WIDTH / 2
        starts.append(left - first)
        left += max(inside, default=0.0) + WIDTH / 2 - first + _GAP
    places = [
        (x + starts[c], y - c * LAYERS * pitch)
        for x, y, c in zip(layout.x, layout.y, columns, strict=True)
    ]
    lines, far = [], []
    for route in layout.routes:
        a, b = int(route[0]), int(route[1])
        if len(route) > 2 and columns[a] == columns[b]:
            shift = columns[a] * LAYERS * pitch
            points = zip(route[2::2], route[3::2], strict=True)
            lines.append([v for x, y in points for v in (x + starts[columns[a]], y - shift)])
        elif columns[a] != columns[b]:  # out on the right, in on the left
            (x0, y0), (x1, y1) = places[a], places[b]
            far.append([x0 + WIDTH / 2, y0, x1 - WIDTH / 2, y1])
    height = max((y for _, y in places), default=0.0) + NODE_HEIGHT / 2
    return Flow(shown, places, lines, far, left - _GAP, height, len(every) - len(shown))


def short_ops(call: KernelCall) -> str:
    """The operators of a call, whole words only: `add, mul +3`."""
    return few_words(list_kernel_ops(call.kernel).split(", "), _LETTERS)


def draw(report: Report) -> Figure:
    """The calls from top to bottom in the order of the data, in columns when there are many."""
    drawn = flow(report)
    marks = mark_kernels(report)
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
        calls = plural(count + drawn.left_out, "call")
        more = f", first {count} of {calls}" if drawn.left_out else ""
        axes.set_title(f"Kernel calls and data flow{more}")
    return figure


def _box(axes: Axes, drawn: Flow, index: int, marks: dict[str, str]) -> None:
    from matplotlib.patches import Rectangle

    call, (x, y) = drawn.calls[index], drawn.places[index]
    mark = marks[call.kernel.id]
    box = Rectangle(
        (x - WIDTH / 2, y - NODE_HEIGHT / 2),
        WIDTH,
        NODE_HEIGHT,
        facecolor=NONE,
        edgecolor=_choose_colour(mark),
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


def _choose_colour(mark: str) -> str:
    """That of a generated kernel; grey for the others."""
    return KERNEL_COLOURS[int(mark[1:])] if mark.startswith("g") else "#808b98"


def draw_picture(report: Report) -> str | None:
    """The picture, or None when there is no kernel, or too many calls to be read.

    It is written to be short: a notebook keeps it. Boxes of one colour are one path.
    """
    drawn = flow(report)
    if not drawn.calls or drawn.left_out:
        return None
    width, height = drawn.width + 2 * _PAD, drawn.height + 2 * _PAD
    marks = mark_kernels(report)
    boxes: dict[str, list[str]] = {}
    for call, (x, y) in zip(drawn.calls, drawn.places, strict=True):
        corner = f"M{x - WIDTH / 2:.0f} {y - NODE_HEIGHT / 2:.0f}"
        box = f"{corner}h{WIDTH:.0f}v{NODE_HEIGHT:.0f}h-{WIDTH:.0f}z"
        boxes.setdefault(marks[call.kernel.id], []).append(box)
    paths = ""
    for mark, own in boxes.items():
        dash = ' stroke-dasharray="4 3"' if mark == "fb" else ""
        paths += f'<path stroke="{_choose_colour(mark)}"{dash} d="{"".join(own)}"/>'
    texts = "".join(
        f'<text x="{x - WIDTH / 2 + 6:.0f}" y="{y - NODE_HEIGHT / 2 + 15:.0f}">'
        f"{escape(call.kernel.id)} {escape(short_ops(call))}</text>"
        for call, (x, y) in zip(drawn.calls, drawn.places, strict=True)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{-_PAD} {-_PAD} {width:.0f} {height:.0f}" font-family="sans-serif" '
        f'font-size="11" stroke-width="1.5" stroke-linejoin="round">'
        f'<g fill="none"><path stroke="#d5dae1" d="{_lines(drawn.far)}"/>'
        f'<path stroke="#808b98" d="{_lines(drawn.lines)}"/></g>'
        f'<g fill="#fff">{paths}</g>'
        f'<g fill="#1b1f24">{texts}</g></svg>'
    )


def encode_picture(report: Report) -> str | None:
    """The picture as a `data:` address."""
    drawn = draw_picture(report)
    if drawn is None:
        return None
    return f"data:image/svg+xml;base64,{b64encode(drawn.encode()).decode('ascii')}"


def _lines(lines: list[list[float]]) -> str:
    return "".join(
        "M" + "L".join(f"{x:.0f} {y:.0f}" for x, y in zip(line[::2], line[1::2], strict=True))
        for line in lines
    )

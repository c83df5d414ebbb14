"""A small picture of the calls of kernels, as SVG, for pages without scripts."""

from __future__ import annotations

from base64 import b64encode
from html import escape

from workbench.analysis.fusion.kinds import mark_kernels
from workbench.report import Report
from workbench.views.charts.calls_chart import WIDTH, flow, short_ops
from workbench.views.charts.sheet import KERNEL_COLOURS
from workbench.views.layout import NODE_HEIGHT

_PAD = 8


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
        f'<g fill="#fff">{"".join(_boxes(mark, paths) for mark, paths in boxes.items())}</g>'
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


def _boxes(mark: str, paths: list[str]) -> str:
    colour = KERNEL_COLOURS[int(mark[1:])] if mark.startswith("g") else "#808b98"
    dash = ' stroke-dasharray="4 3"' if mark == "fb" else ""
    return f'<path stroke="{colour}"{dash} d="{"".join(paths)}"/>'

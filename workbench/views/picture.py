"""A small picture of the calls of kernels, as SVG, for pages without scripts."""

from __future__ import annotations

from base64 import b64encode
from html import escape

from workbench.analysis.fusion.kinds import kernel_kinds, kernel_marks
from workbench.report import Kernel, Report
from workbench.views.flow import WIDTH, Flow, flow, short_ops
from workbench.views.layout import NODE_HEIGHT
from workbench.views.palette import KERNEL_COLOURS
from workbench.views.place_words import ops_of

_PAD = 8


def picture(report: Report) -> str | None:
    """The picture, or None when there is no kernel, or too many calls to be read."""
    drawn = flow(report)
    if not drawn.calls or drawn.left_out:
        return None
    width, height = drawn.width + 2 * _PAD, drawn.height + 2 * _PAD
    marks, kinds = kernel_marks(report), kernel_kinds(report)
    boxes = "".join(
        _box(drawn, index, marks[call.kernel.id], _title(call.kernel, kinds[call.kernel.id]))
        for index, call in enumerate(drawn.calls)
    )
    lines, far = ("".join(map(_line, lines)) for lines in (drawn.lines, drawn.far))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{-_PAD} {-_PAD} {width:.0f} {height:.0f}" font-family="sans-serif" '
        f'font-size="11" fill="#fff" stroke-width="1.5"><g stroke="#d5dae1" fill="none">{far}</g>'
        f'<g stroke="#808b98" fill="none">{lines}</g>'
        f"{boxes}</svg>"
    )


def picture_address(report: Report) -> str | None:
    """The picture as a `data:` address."""
    drawn = picture(report)
    if drawn is None:
        return None
    return f"data:image/svg+xml;base64,{b64encode(drawn.encode()).decode('ascii')}"


def _line(line: list[float]) -> str:
    points = zip(line[::2], line[1::2], strict=True)
    return f'<polyline points="{" ".join(f"{x:.0f},{y:.0f}" for x, y in points)}"/>'


def _title(kernel: Kernel, kind: str) -> str:
    return escape(f"{kernel.id}: {ops_of(kernel)} ({kind})")


def _box(drawn: Flow, index: int, mark: str, title: str) -> str:
    call, (x, y) = drawn.calls[index], drawn.places[index]
    left, top = x - WIDTH / 2, y - NODE_HEIGHT / 2
    colour = KERNEL_COLOURS[int(mark[1:])] if mark.startswith("g") else "#808b98"
    dash = ' stroke-dasharray="4 3"' if mark == "fb" else ""
    return (
        f'<rect x="{left:.0f}" y="{top:.0f}" width="{WIDTH:.0f}" height="{NODE_HEIGHT:.0f}" rx="3" '
        f'stroke="{colour}"{dash}><title>{title}</title></rect>'
        f'<text x="{left + 6:.0f}" y="{top + 15:.0f}" fill="#1b1f24">'
        f"<tspan font-weight='bold'>{escape(call.kernel.id)}</tspan> "
        f"{escape(short_ops(call))}</text>"
    )

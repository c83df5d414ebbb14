"""A small picture of the kernels and what flows between them, as SVG, for pages without scripts."""

from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from html import escape

from workbench.analysis.kinds import kernel_kinds, kernel_marks
from workbench.report import Kernel, Report
from workbench.views.layout import NODE_HEIGHT, Layout, layered
from workbench.views.palette import KERNEL_COLOURS
from workbench.views.places import ops_of

MOST = 60  # kernels; more cannot be told apart
_WIDTH = 168.0
_PAD = 8
_LONGEST = 20  # characters of a box


def picture(report: Report) -> str | None:
    """The picture, or None when there is no kernel, or too many to be read."""
    kernels = list(report.kernels)
    if not 0 < len(kernels) <= MOST:
        return None
    layout = layered(_inputs(report, kernels), width=_WIDTH)
    width, height = layout.width + 2 * _PAD, layout.height + 2 * _PAD
    lines = "".join(_edge(route) for route in layout.routes if len(route) > 2)
    marks, kinds = kernel_marks(report), kernel_kinds(report)
    boxes = "".join(
        _box(kernel, layout, index, marks[kernel.id], kinds[kernel.id])
        for index, kernel in enumerate(kernels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{-_PAD} {-_PAD} {width:.0f} {height:.0f}" '
        f'font-family="sans-serif" font-size="11">{lines}{boxes}</svg>'
    )


def picture_address(report: Report) -> str | None:
    """The picture as a `data:` address."""
    drawn = picture(report)
    if drawn is None:
        return None
    return f"data:image/svg+xml;base64,{b64encode(drawn.encode()).decode('ascii')}"


def _inputs(report: Report, kernels: list[Kernel]) -> list[list[int]]:
    """For each kernel those before it that write what it reads."""
    place: dict[str, int] = {}
    for index, kernel in enumerate(kernels):
        for node in kernel.scheduler_nodes:
            place.setdefault(node, index)
    found: dict[int, set[int]] = defaultdict(set)
    for buffer in report.buffers:
        writers = {place[node] for node in buffer.written_by if node in place}
        for reader in {place[node] for node in buffer.read_by if node in place}:
            found[reader] |= {writer for writer in writers if writer < reader}
    return [sorted(found[index]) for index in range(len(kernels))]


def _edge(route: list[float]) -> str:
    points = [f"{x:.0f},{y:.0f}" for x, y in zip(route[2::2], route[3::2], strict=True)]
    return f'<polyline fill="none" stroke="#808b98" points="{" ".join(points)}"/>'


def _box(kernel: Kernel, layout: Layout, index: int, mark: str, kind: str) -> str:
    left, top = layout.x[index] - _WIDTH / 2, layout.y[index] - NODE_HEIGHT / 2
    is_generated = mark.startswith("g")
    colour = KERNEL_COLOURS[int(mark[1:])] if is_generated else "#808b98"
    dash = ' stroke-dasharray="4 3"' if mark == "fb" else ""
    ops = ops_of(kernel)
    short = ops if len(ops) <= _LONGEST else f"{ops[: _LONGEST - 1]}…"
    title = f"{kernel.id}: {ops} ({kind})"
    return (
        f"<g><title>{escape(title)}</title>"
        f'<rect x="{left:.0f}" y="{top:.0f}" width="{_WIDTH:.0f}" height="{NODE_HEIGHT:.0f}" '
        f'rx="3" fill="#ffffff" stroke="{colour}" stroke-width="1.5"{dash}/>'
        f'<text x="{left + 6:.0f}" y="{top + 15:.0f}" fill="#1b1f24">'
        f'<tspan font-weight="bold">{escape(kernel.id)}</tspan> {escape(short)}</text></g>'
    )

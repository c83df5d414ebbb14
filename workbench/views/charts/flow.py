"""Where the calls of a compilation stand in a small picture: in layers, in columns when many."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.analysis.fusion.fusion import Call, calls
from workbench.report import Report
from workbench.views.layout import GAP_Y, NODE_HEIGHT, layered
from workbench.views.words.places import ops_of

WIDTH = 176.0
LAYERS = 26  # in one column
MOST = 110  # calls; more cannot be told apart
_GAP = 44.0
_LETTERS = 21


@dataclass(frozen=True)
class Flow:
    """Calls with their centres, and lines between them as points x, y, x, y, …, in pixels.

    `far` are the lines from column to column, to be drawn behind and paler.
    """

    calls: list[Call]
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


def short_ops(call: Call, letters: int = _LETTERS) -> str:
    """The operators of a call, whole words only: `add, mul +3`."""
    return few_words(ops_of(call.kernel).split(", "), letters)


def few_words(words: list[str], letters: int) -> str:
    """As many words as fit, and how many there are besides."""
    for count in range(len(words), 0, -1):
        rest = len(words) - count
        text = ", ".join(words[:count]) + (f" +{rest}" if rest else "")
        if len(text) <= letters:
            return text
    name = words[0] if words else ""
    more = f" +{len(words) - 1}" if len(words) > 1 else ""
    room = letters - len(more)
    return (name if len(name) <= room else f"{name[: room - 1]}…") + more

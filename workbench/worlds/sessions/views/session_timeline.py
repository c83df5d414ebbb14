"""The steps of a session as rectangles of a picture that needs no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

from workbench.number_text import format_ms
from workbench.views.kit.sheet import KERNEL_COLOURS, PALE
from workbench.worlds.sessions.rows.session_record import Session
from workbench.worlds.sessions.views.session_answer import Bar, bars

WIDTH, HEIGHT = 900, 160
"""Of the picture, without its axis."""
_LEAST_MS = 0.1  # what the scale is linear below
_TICKS_MS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
PARTS = (
    ("compiling", KERNEL_COLOURS[1]),
    ("in compiled graphs", KERNEL_COLOURS[2]),
    ("outside graphs", PALE),
)
MARKS = {"recompile": "↻", "break": "✂", "fallback": "▼", "CUDA graph skip": "■"}


@dataclass(frozen=True)
class Rectangle:
    """A part of a bar, in pixels."""

    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True)
class ShownBar:
    """One bar with its middle, its words and the marks of what happened in it."""

    parts: tuple[Rectangle, ...]
    middle: float
    top: float
    words: str
    marks: str
    heights: tuple[float, float, float]
    bar: Bar


@dataclass(frozen=True)
class Timeline:
    """Bars, and the lines of a scale on which 5 ms are seen beside 10 s."""

    bars: tuple[ShownBar, ...]
    ticks: tuple[tuple[float, str], ...]
    first: int
    last: int
    width: int = WIDTH
    height: int = HEIGHT
    parts: tuple[tuple[str, str], ...] = PARTS


def timeline(session: Session) -> Timeline | None:
    """The picture of a session; None where no step has ended."""
    steps = list(session.tables["steps"])
    if not steps:
        return None
    own = bars(steps, list(session.tables["events"]))
    most = max(sum(_times(bar)) for bar in own) or _LEAST_MS
    width = WIDTH / len(own)
    ticks = tuple((HEIGHT - _high(ms, most), format_ms(ms)) for ms in _TICKS_MS if ms <= most)
    shown = tuple(_shown(bar, n * width, width, most) for n, bar in enumerate(own))
    return Timeline(shown, ticks, own[0].first, own[-1].last)


def _times(bar: Bar) -> tuple[float, float, float]:
    return bar.compile_ms, bar.graphs_ms, bar.outside_ms


def _high(ms: float, most: float) -> float:
    """The height of a time, in pixels: by its logarithm."""
    return HEIGHT * log10(1 + ms / _LEAST_MS) / log10(1 + most / _LEAST_MS)


def _shown(bar: Bar, x: float, width: float, most: float) -> ShownBar:
    parts, below = [], 0.0
    heights = []
    for ms, (_, colour) in zip(_times(bar), PARTS, strict=True):
        low, high = _high(below, most), _high(below + ms, most)
        below += ms
        heights.append((high - low) / HEIGHT)
        if ms:
            parts.append(Rectangle(x, HEIGHT - high, width * 0.9, high - low, colour))
    marks = "".join(sign for kind, sign in MARKS.items() if kind in bar.kinds)
    top, middle = HEIGHT - _high(below, most), x + width * 0.45
    a, b, c = heights
    return ShownBar(tuple(parts), middle, top, _words(bar), marks, (a, b, c), bar)


def _words(bar: Bar) -> str:
    one = bar.first == bar.last
    name = f"step {bar.first}" if one else f"steps {bar.first} to {bar.last}, each"
    times: Sequence[str] = [
        f"{format_ms(ms)} {part}" for ms, (part, _) in zip(_times(bar), PARTS, strict=True)
    ]
    happened = f"; {', '.join(bar.kinds)}" if bar.kinds else ""
    return f"{name}: {', '.join(times)}{happened}"

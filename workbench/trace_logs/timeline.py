"""The timeline of a log. Its events name no thread: what overlaps goes to lanes of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.compiler.sources.spans import Span, phase_rows
from workbench.report import Phase
from workbench.trace_logs.content import LogContent, Mark


@dataclass
class _OnLane(Span):
    lane: int = 0


def phases(contents: Iterable[LogContent]) -> list[Phase]:
    """The phases of every log on one time axis, in the order of their start."""
    found = [(content.label, _spans(content.marks)) for content in contents]
    started = min((s.start for _, spans in found for s in spans), default=0.0)
    for _, spans in found:
        _place(spans)
    return phase_rows(
        ((span, _thread(label, span.lane)) for label, spans in found for span in spans), started
    )


def _thread(label: str, lane: int) -> str:
    name = "main" if lane == 0 else f"parallel {lane}"
    return f"{label}, {name}" if label else name


def _spans(marks: list[Mark]) -> list[_OnLane]:
    """Begins with their ends: the last one open of that name and compilation."""
    waiting: dict[tuple[str, str | None], list[_OnLane]] = {}
    spans: list[_OnLane] = []
    last = max((mark.at for mark in marks), default=0.0)
    for mark in marks:
        key = mark.name, mark.compile_id
        if mark.is_begin:
            span = _OnLane(mark.name, mark.at, last, mark.compile_id)
            waiting.setdefault(key, []).append(span)
            spans.append(span)
        elif waiting.get(key):
            span = waiting[key].pop()
            span.end = max(mark.at, span.start)
    return spans


def _place(spans: list[_OnLane]) -> None:
    """Put every span on the first lane on which it lies inside of what is open."""
    lanes: list[list[_OnLane]] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        for stack in lanes:
            while stack and stack[-1].end <= span.start:
                stack.pop()
            if not stack or span.end <= stack[-1].end:
                break
        else:
            stack = []
            lanes.append(stack)
        span.lane = next(n for n, lane in enumerate(lanes) if lane is stack)
        span.depth = len(stack)
        if stack:
            stack[-1].children_s += span.seconds
        stack.append(span)

"""The timeline of a compilation: nested phases with their own time, one stack for each thread."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.report import Phase


@dataclass(frozen=True, slots=True)
class Mark:
    """The begin or the end of a phase; `at` is in seconds, `thread` where it happened."""

    name: str
    is_begin: bool
    at: float
    thread: Hashable
    compile_id: str | None


@dataclass
class _Span:
    name: str
    start: float
    end: float
    compile_id: str | None
    depth: int
    children_s: float = 0.0


def read_mark(event: Mapping[str, Any], thread: Hashable, compile_id: str | None) -> Mark | None:
    """The mark in an event of torch's timers; None for an event of another kind."""
    kind = event.get("ph")
    if kind not in ("B", "E"):
        return None
    return Mark(str(event["name"]), kind == "B", event["ts"] / 1e6, thread, compile_id)


def nest(marks: Iterable[Mark], started: float, names: Mapping[Hashable, str]) -> list[Phase]:
    """Pair begins with ends in the order of the begins; times are relative to `started`.

    A phase that never ended ends with the one around it.
    """
    by_thread: dict[Hashable, list[Mark]] = {}
    for mark in marks:
        by_thread.setdefault(mark.thread, []).append(mark)
    spans = [(span, names[thread]) for thread, part in by_thread.items() for span in _pair(part)]
    spans.sort(key=lambda pair: (pair[0].start, pair[0].depth))
    return [
        Phase(
            id=f"p{n}",
            name=span.name,
            start_s=round(span.start - started, 6),
            duration_s=round(span.end - span.start, 6),
            self_s=round(max(0.0, span.end - span.start - span.children_s), 6),
            depth=span.depth,
            thread=thread,
            compile_id=span.compile_id,
        )
        for n, (span, thread) in enumerate(spans)
    ]


def _pair(marks: list[Mark]) -> Iterator[_Span]:
    stack: list[_Span] = []
    last = 0.0
    for mark in marks:
        last = max(last, mark.at)
        if mark.is_begin:
            stack.append(_Span(mark.name, last, last, mark.compile_id, len(stack)))
        elif any(span.name == mark.name for span in stack):
            yield from _close(stack, last, until=mark.name)
    yield from _close(stack, last, until=None)


def _close(stack: list[_Span], at: float, *, until: str | None) -> Iterator[_Span]:
    """Close phases from the innermost to the one named `until`, or all."""
    while stack:
        span = stack.pop()
        span.end = at
        if stack:
            stack[-1].children_s += at - span.start
        yield span
        if span.name == until:
            return


def part_lanes(marks: Iterable[Mark]) -> Iterator[Mark]:
    """Marks of several threads that nobody names, each on a lane on which phases do not cross.

    The lane stands in the place of the thread: 0 for the first. An end belongs to the last begin
    of its name and compilation that is open; one without a begin is left out.
    """
    listed = list(marks)
    ends = _find_ends(listed)
    lanes: list[list[int]] = []  # of each the ends of what is open, the innermost last
    lane_of: dict[int, int] = {}
    for begin, end in sorted(ends.items()):
        for open_ends in lanes:
            while open_ends and open_ends[-1] < begin:
                open_ends.pop()
        # what never ends, ends with the phase around it
        fits = (
            n
            for n, lane_ends in enumerate(lanes)
            if not lane_ends or end < lane_ends[-1] or end == len(listed)
        )
        lane = next(fits, len(lanes))
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append(min([end, *lanes[lane][-1:]]))
        lane_of[begin] = lane_of[end] = lane
    for place, mark in enumerate(listed):
        if place in lane_of:
            yield replace(mark, thread=lane_of[place])


def _find_ends(marks: Sequence[Mark]) -> dict[int, int]:
    """By the place of each begin that of its end, or past all marks where there is none."""
    ends: dict[int, int] = {}
    begun: dict[tuple[str, str | None], list[int]] = {}
    for place, mark in enumerate(marks):
        waiting = begun.setdefault((mark.name, mark.compile_id), [])
        if mark.is_begin:
            waiting.append(place)
            ends[place] = len(marks)
        elif waiting:
            ends[waiting.pop()] = place
    return ends

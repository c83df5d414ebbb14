"""The call stacks of what lives at the memory peak, as the frames of a flame graph."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.analysis.calls.call_tree import CostRow, list_call_rows
from workbench.analysis.memory.memory import Memory
from workbench.report import Report
from workbench.views.overview.answer import read_line
from workbench.views.wire.memory_messages import MemoryFrame

_MOST = 400  # frames; narrower ones cannot be seen


def list_frames(report: Report, usage: Memory) -> list[MemoryFrame]:
    """What the caller holds, then each function with its lines and what they call.

    A library's function is one frame. Empty where nothing at the peak has a line.
    """
    roots = [row for row in list_call_rows(report) if row.total.get("memory")]
    if not any(row.kind != "rest" for row in roots):
        return []
    frames: list[MemoryFrame] = []
    start = 0
    for name, size in usage.held_at_peak.items():
        frames.append(_frame("", "", name, start, size, 0))
        start += size
    for row in roots:
        frames += _list_below(report, row, start, 0)
        start += round(row.total["memory"])
    return sorted(frames, key=lambda frame: -frame["bytes"])[:_MOST]


def _list_below(report: Report, row: CostRow, start: int, depth: int) -> Iterator[MemoryFrame]:
    """A frame and those inside it, the largest first."""
    size = round(row.total["memory"])
    kind, words = "", row.name
    if row.kind == "line":
        kind, words = "line", f"line {row.id.rpartition(':')[2]}: {read_line(report, row.id)}"
    elif row.kind in ("module", "library"):
        kind = row.kind
    if row.times > 1:
        words = f"{words} × {row.times}"
    id = row.id if row.kind in ("line", "module") else ""
    yield _frame(id, kind, words, start, size, depth)
    inside = [part for part in row.parts if part.total.get("memory")]
    for part in sorted(inside, key=lambda part: -part.total["memory"]):
        yield from _list_below(report, part, start, depth + 1)
        start += round(part.total["memory"])


def _frame(id: str, kind: str, name: str, start: int, size: int, depth: int) -> MemoryFrame:
    return {"id": id, "kind": kind, "name": name, "start": start, "bytes": size, "depth": depth}

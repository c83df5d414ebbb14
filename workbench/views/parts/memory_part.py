"""The parts `memory:` and `budgets:`: live bytes of a call, its peak taken apart, its budgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from workbench.analysis.budgets.budget_code import snippets
from workbench.analysis.budgets.budgets import (
    BudgetPoint,
    Budgets,
    cost_text,
    read_recorded_budgets,
    strip_overload,
)
from workbench.analysis.cost.line_shares import list_line_ids
from workbench.analysis.layers.layers import ModuleShare, sum_module_shares, template
from workbench.analysis.memory.memory import By, Memory, memory, stacked
from workbench.analysis.memory.timeline import Timeline
from workbench.analysis.memory.waste import remarks
from workbench.errors import UsageError
from workbench.report import Report
from workbench.report.memory_rows import Allocation, Kind, RecomputedNode
from workbench.specs import Catalogue
from workbench.views.parts.memory_stack import list_frames
from workbench.views.tables.columns import specs
from workbench.views.wire.memory_messages import (
    Budget,
    BudgetLine,
    BudgetsPart,
    MemoryPart,
    MemoryShare,
    MemoryStorage,
)

_MARKS: Mapping[Kind, str] = {
    "output": "g5",
    "saved for backward": "g0",
    "tangent": "g3",
    "gradient": "g2",
    "temporary": "g1",
    "library result": "g4",
    "workspace": "g6",
    "pool": "g7",
    "gathered parameter": "g7",  # no program has both these and pools or workspaces of Inductor
    "collective buffer": "g6",
}
"""The colours of kinds; what the caller holds is grey."""
_HOW: Mapping[str, str] = {
    "in place": "overwrites",
    "reuse": "reuses the memory of",
    "view": "is a view of",
}
_MOST = 40  # entries of the peak


def build_memory_part(report: Report) -> MemoryPart:
    """Build the part; raises `UsageError` where the record tells nothing of memory."""
    usage = memory(report)
    lines = list_line_ids(report)
    pairs = zip(usage.allocations, _buffers(usage.timeline), strict=True)
    same = _same(usage.allocations)
    rows = [_storage(usage, row, buffers, lines, same) for row, buffers in pairs]
    return {
        "kind": "memory",
        "id": "",
        "sentence": usage.sentence,
        "missing": usage.also_missing,
        "peaks": [(row.scope, row.bytes, row.step or 0) for row in usage.peaks],
        "base": usage.base,
        "eager": _eager(usage),
        "capacity": usage.capacity,
        "kernels": list(usage.timeline.kernels),
        "names": usage.step_names,
        "backward": next((row.step for row in usage.steps if row.is_backward), None),
        "layers": [
            {"kind": kind, "mark": _mark(kind), "bytes": values}
            for kind, values in stacked(usage).items()
        ],
        "at_peak": {
            "line": list(_shares(usage, "line", lines)),
            "module": list(map(_module, _fewer(sum_module_shares(usage)))),
            "kind": list(_shares(usage, "kind", lines)),
        },
        "stack": list_frames(report, usage),
        "storages": rows,
        "remarks": [
            {
                "text": remark.text,
                "bytes": remark.bytes,
                "line": lines.get((remark.file or "", remark.line or 0)),
                "kernel": remark.kernel,
            }
            for remark in remarks(report)
        ],
        "columns": specs({"storages": rows}).get("storages", []),
    }


def _mark(kind: str) -> str:
    return next((mark for name, mark in _MARKS.items() if name == kind), "ext")


def _shares(usage: Memory, by: By, lines: Mapping[tuple[str, int], str]) -> Iterator[MemoryShare]:
    """What belongs together at the peak, most first; the smallest in one entry."""
    parts = list(usage.at_peak(by).items())
    ids = {_place(file, line): id for (file, line), id in lines.items()} if by == "line" else {}
    for name, size in parts[:_MOST]:
        yield _share(name, size, ids.get(name))
    rest = parts[_MOST:]
    if rest:
        size = sum(size for _, size in rest)
        yield _share(f"{len(rest)} more", size)


def _share(name: str, size: int, line: str | None = None) -> MemoryShare:
    return {
        "name": name,
        "bytes": size,
        "line": line,
        "times": 1,
        "each": (size, size),
        "parts": [],
        "peak": False,
    }


def _module(share: ModuleShare) -> MemoryShare:
    part = _share(share.name, share.bytes)
    if share.layers:
        part |= {"times": share.times, "each": share.each}
    return {**part, "parts": list(map(_module, share.parts)), "peak": share.makes_peak}


def _fewer(shares: Sequence[ModuleShare]) -> Iterator[ModuleShare]:
    """The largest, and the others as one."""
    yield from shares[:_MOST]
    rest = shares[_MOST:]
    if rest:
        yield ModuleShare(f"{len(rest)} more", sum(share.bytes for share in rest))


def _eager(usage: Memory) -> tuple[int, str] | None:
    """The peak without a compiler, where it was counted."""
    row = next((row for row in usage.rows("memory_peaks") if row.scope == "eager"), None)
    why = f"not included: {row.missing}" if row is not None and row.missing else ""
    return None if row is None else (row.bytes, why)


def _same(rows: Iterable[Allocation]) -> dict[str, tuple[str, str | None]]:
    """By id the first storage that is the same in an equal layer, and its place in any layer."""
    firsts: dict[object, str] = {}
    counts: Counter[object] = Counter()  # a layer may have several that are alike
    by_id = {}
    for row in rows:
        place = template(row.module) or template(row.value)
        what = (place, row.kind, row.bytes, row.at_peak, row.line, template(row.value) or row.value)
        layer = what, row.module or row.value
        counts[layer] += 1
        first = firsts.setdefault((what, counts[layer]), row.id)
        by_id[row.id] = (row.id if place is None else first, place)
    return by_id


def _place(file: str, line: int) -> str:
    return f"{PurePath(file).name}:{line}"


def _buffers(timeline: Timeline) -> Iterator[list[str]]:
    """By storage the ids of the buffers in it, also those that the backward takes it as."""
    saved_names: dict[int, list[str]] = {}
    for name, storage in timeline.saved:
        saved_names.setdefault(id(storage), []).append(name)
    programs = range(len(timeline.wrappers))
    for storage in timeline.walk.storages:
        own = programs if storage.is_given else [storage.program]
        places = [(program, name) for program in own for name in storage.names]
        places += [(programs[-1], name) for name in saved_names.get(id(storage), ())]
        buffers = (timeline.buffers.get(place) for place in places)
        yield list(dict.fromkeys(row.id for row in buffers if row is not None))


def _storage(
    usage: Memory,
    row: Allocation,
    buffers: list[str],
    lines: Mapping[tuple[str, int], str],
    same: Mapping[str, tuple[str, str | None]],
) -> MemoryStorage:
    place = (row.file or "", row.line or 0)
    return {
        "id": row.id,
        "same": same[row.id][0],
        "in_layers": same[row.id][1],
        "value": row.value,
        "kind": row.kind,
        "mark": _mark(row.kind),
        "bytes": row.bytes,
        "start": row.step_from,
        "end": row.step_to,
        "at_peak": row.at_peak,
        "lowers": 0 if row.peak_without is None else usage.peak - row.peak_without,
        "line": lines.get(place),
        "place": _place(*place) if row.line else "",
        "module": row.module,
        "node": row.node,
        "buffers": buffers,
        "reuse": "; ".join(f"{name} {_HOW.get(how, how)} {base}" for name, how, base in row.reused),
    }


_OPERATORS = 3  # that are named of a line
_NONE = (
    "The report of {} has no other memory budgets. `compiled.checkpoint()` lists them while the "
    "compilation is live."
)


def build_budgets_part(report: Report) -> BudgetsPart:
    """Build the part; raises `UsageError` where the record has no budgets."""
    gpus = [gpu for gpu in Catalogue.built_in() if gpu.name == report.request.target]
    budgets = read_recorded_budgets(report, gpus[0] if gpus else None)
    if budgets is None:
        raise UsageError(_NONE.format(report.request.name))
    lines = list_line_ids(report)
    return {
        "kind": "budgets",
        "id": "",
        "own": budgets.own,
        "best": budgets.best.budget,
        "sentence": budgets.sentence,
        "rows": [_row(report, budgets, point, lines) for point in budgets.points],
    }


def _row(
    report: Report, budgets: Budgets, point: BudgetPoint, lines: Mapping[tuple[str, int], str]
) -> Budget:
    again = [row for row in budgets.recomputed if row.budget == point.budget]
    return {
        "budget": point.budget,
        "saved": point.saved_bytes,
        "peak": point.peak_bytes,
        "preview": point.most_bytes,
        "again": point.recomputed,
        "cost": cost_text(point),
        "lines": list(_by_line(again, lines)),
        "code": [
            {"title": snippet.title, "text": snippet.text, "note": snippet.note}
            for snippet in snippets(report, budgets, point.budget)
        ],
    }


def _by_line(
    again: Iterable[RecomputedNode], lines: Mapping[tuple[str, int], str]
) -> Iterator[BudgetLine]:
    """What is computed again, by line, most bytes first."""
    places: dict[tuple[str, int], list[RecomputedNode]] = {}
    for row in again:
        places.setdefault((row.file or "", row.line or 0), []).append(row)
    sizes = {place: sum(row.bytes or 0 for row in rows) for place, rows in places.items()}
    for place in sorted(places, key=lambda place: -sizes[place]):
        rows = places[place]
        yield {
            "line": lines.get(place),
            "place": f"{PurePath(place[0]).name}:{place[1]}" if place[1] else "no line",
            "operators": _named(rows),
            "count": len(rows),
            "bytes": sizes[place],
        }


def _named(rows: Iterable[RecomputedNode]) -> str:
    """The operators with most operations, else those that are most."""
    counts: Counter[str] = Counter()
    flops: Counter[str] = Counter()
    for row in rows:
        counts[strip_overload(row.operator)] += 1
        flops[strip_overload(row.operator)] += row.flops or 0
    names = sorted(counts, key=lambda name: (-flops[name], -counts[name]))[:_OPERATORS]
    shown = [f"{name} × {counts[name]}" if counts[name] > 1 else name for name in names]
    rest = len(counts) - len(shown)
    return ", ".join([*shown, f"{rest} more"] if rest else shown)

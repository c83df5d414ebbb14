"""The part `memory:`: live bytes over the steps of a call, its storages, its peak taken apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath

from workbench.analysis.cost.line_shares import line_ids
from workbench.analysis.memory.memory import By, Memory, memory, stacked
from workbench.analysis.memory.rows import Allocation, Kind
from workbench.analysis.memory.timeline import Timeline
from workbench.report import Report
from workbench.specs import Catalogue
from workbench.views.tables.columns import specs
from workbench.views.wire.memory import MemoryPart, MemoryShare, MemoryStorage

_MARKS: Mapping[Kind, str] = {
    "output": "g5",
    "saved for backward": "g0",
    "tangent": "g3",
    "gradient": "g2",
    "temporary": "g1",
    "library result": "g4",
    "workspace": "g6",
    "pool": "g7",
}
"""The colours of kinds; what the caller holds is grey."""
_HOW: Mapping[str, str] = {
    "in place": "is written in place of",
    "reuse": "reuses the memory of",
    "view": "is a view of",
}
_BYS: tuple[By, ...] = ("line", "module", "kind")
_MOST = 40  # entries of the peak


def memory_part(report: Report) -> MemoryPart:
    """Build the part; raises `UsageError` where the record tells nothing of memory."""
    found = memory(report)
    lines = line_ids(report)
    pairs = zip(found.allocations, _buffers(found.timeline), strict=True)
    rows = [_storage(found, row, buffers, lines) for row, buffers in pairs]
    gpus, target = Catalogue.built_in(), report.request.target
    return {
        "kind": "memory",
        "id": "",
        "sentence": found.sentence,
        "missing": found.missing,
        "peaks": [(row.scope, row.bytes, row.step or 0) for row in found.peaks],
        "base": found.base,
        "capacity": gpus[target].dram_bytes if target in gpus else None,
        "kernels": list(found.timeline.kernels),
        "names": [step.kernel for step in found.timeline.walk.steps],
        "backward": next((row.step for row in found.steps if row.is_backward), None),
        "layers": [
            {"kind": kind, "mark": _mark(kind), "bytes": values}
            for kind, values in stacked(found).items()
        ],
        "at_peak": {by: list(_shares(found, by, lines)) for by in _BYS},
        "storages": rows,
        "columns": specs({"storages": rows}).get("storages", []),
    }


def _mark(kind: str) -> str:
    return next((mark for known, mark in _MARKS.items() if known == kind), "ext")


def _shares(found: Memory, by: By, lines: Mapping[tuple[str, int], str]) -> Iterator[MemoryShare]:
    """What belongs together at the peak, most first; the smallest in one entry."""
    parts = list(found.at_peak(by).items())
    ids = {_place(file, line): id for (file, line), id in lines.items()} if by == "line" else {}
    for name, size in parts[:_MOST]:
        yield {"name": name, "bytes": size, "line": ids.get(name)}
    rest = parts[_MOST:]
    if rest:
        size = sum(size for _, size in rest)
        yield {"name": f"{len(rest)} more", "bytes": size, "line": None}


def _place(file: str, line: int) -> str:
    return f"{PurePath(file).name}:{line}"


def _buffers(timeline: Timeline) -> Iterator[list[str]]:
    """By storage the ids of the buffers in it, also those that the backward takes it as."""
    kept: dict[int, list[str]] = {}
    for name, storage in timeline.saved:
        kept.setdefault(id(storage), []).append(name)
    programs = range(len(timeline.wrappers))
    for storage in timeline.walk.storages:
        own = programs if storage.is_given else [storage.program]
        places = [(program, name) for program in own for name in storage.names]
        places += [(programs[-1], name) for name in kept.get(id(storage), ())]
        found = (timeline.buffers.get(place) for place in places)
        yield list(dict.fromkeys(row.id for row in found if row is not None))


def _storage(
    found: Memory, row: Allocation, buffers: list[str], lines: Mapping[tuple[str, int], str]
) -> MemoryStorage:
    place = (row.file or "", row.line or 0)
    return {
        "id": row.id,
        "value": row.value,
        "kind": row.kind,
        "mark": _mark(row.kind),
        "bytes": row.bytes,
        "start": row.step_from,
        "end": row.step_to,
        "at_peak": row.at_peak,
        "lowers": 0 if row.peak_without is None else found.peak - row.peak_without,
        "line": lines.get(place),
        "place": _place(*place) if row.line else "",
        "module": row.module,
        "node": row.node,
        "buffers": buffers,
        "reuse": "; ".join(f"{name} {_HOW.get(how, how)} {base}" for name, how, base in row.reused),
    }

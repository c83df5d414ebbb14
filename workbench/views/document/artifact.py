"""The file that a compilation was saved to or loaded from, and its round trip."""

from __future__ import annotations

import math
from typing import cast

from workbench.report import Report
from workbench.report.roundtrip_rows import RoundTripPhase
from workbench.views import wire
from workbench.views.panes.about import environment_rows, request_rows
from workbench.views.panes.artifact import advice, file_rows, runs_on
from workbench.views.roundtrip import against_eager, title_of, words_of
from workbench.views.units import difference_text
from workbench.views.wire_artifact import (
    ContractLeaf,
    Member,
    Requirement,
    SavedFile,
    TripLeaf,
    TripPhase,
    TripWay,
)


def saved_file(report: Report, saved: tuple[str, int] | None) -> SavedFile:
    """The tables of the pane."""
    return {
        "advice": advice(report, saved),
        "members": [
            cast(Member, {"id": f"Z:m{n}", **_fields(row)}) for n, row in enumerate(report.members)
        ],
        "contract": [
            cast(ContractLeaf, {"id": f"Z:c{n}", **_fields(row)})
            for n, row in enumerate(report.contract)
        ],
        "requirements": [
            cast(Requirement, {"id": f"Z:r{n}", **_fields(row)})
            for n, row in enumerate(report.requirements)
        ],
        "ways": _ways(report),
        "leaves": list(_leaves(report)),
    }


def facts(report: Report, saved: tuple[str, int] | None) -> list[wire.Artifact]:
    """Facts in groups: the file, the request, the environment, the caches, what is missing."""
    groups: list[tuple[str, list[tuple[str, str]]]] = [
        ("File", [*file_rows(report, saved), *runs_on(report, saved)]),
        ("Inputs", _inputs(report)),
        ("Request", [row for row in request_rows(report) if row[0] != "Inputs"]),
        ("Environment", list(environment_rows(report))),
        ("What torch's caches answered", _caches(report)),
        ("What could not be captured", _missing(report)),
    ]
    return [{"title": title, "facts": rows} for title, rows in groups if rows]


def _fields(row: object) -> dict[str, object]:
    names = type(row).__dataclass_fields__  # type: ignore[attr-defined]
    return {name: getattr(row, name) for name in names}


def _ways(report: Report) -> list[TripWay]:
    phases: dict[str, list[RoundTripPhase]] = {}
    for phase in report.roundtrip_phases:
        phases.setdefault(phase.way, []).append(phase)
    return [
        {
            "id": f"Z:{way.way}",
            "name": way.way,
            "title": title_of(way.way),
            "ran": way.ran,
            "ok": way.ok,
            "against": against_eager(way) if way.ran else "did not run",
            "imports_s": way.imports_s,
            "load_s": way.load_s,
            "first_call_s": way.first_call_s,
            "first_result_s": way.first_result_s,
            "total_s": way.total_s,
            "steady_s": way.steady_s,
            "note": way.note,
            "phases": [_phase(row) for row in phases.get(way.way, ())],
        }
        for way in report.roundtrip
    ]


def _phase(row: RoundTripPhase) -> TripPhase:
    return {
        "id": f"Z:{row.way}:{row.phase}",
        "name": row.phase,
        "title": words_of(row.phase),
        "start_s": row.start_s,
        "duration_s": row.duration_s,
    }


def _leaves(report: Report) -> list[TripLeaf]:
    return [
        {
            "id": f"Z:o{n}",
            "way": title_of(row.way),
            "leaf": row.leaf,
            "dtype": row.dtype,
            "shape": str(list(row.shape)),
            "bit_exact": row.bit_exact,
            "ok": row.ok,
            "max_abs_error": row.max_abs_error if math.isfinite(row.max_abs_error) else None,
            "tolerance": f"{difference_text(row.atol)} + {difference_text(row.rtol)} × |value|",
            "note": row.note,
        }
        for n, row in enumerate(report.roundtrip_leaves)
    ]


def _inputs(report: Report) -> list[tuple[str, str]]:
    if len(report.contract):
        return []  # they stand in a table
    found = []
    for text in report.request.inputs:
        name, colon, rest = text.partition(": ")
        found.append((name, rest) if colon else ("", text))
    return found


def _caches(report: Report) -> list[tuple[str, str]]:
    return [
        (event.cache, f"{event.outcome}: {event.reason}" if event.reason else event.outcome)
        for event in report.cache
    ]


def _missing(report: Report) -> list[tuple[str, str]]:
    absent = [part for part in report.capabilities if not part.available]
    return [(part.name, part.reason or "no reason recorded") for part in absent]

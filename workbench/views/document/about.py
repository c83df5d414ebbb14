"""The timeline, and the choices of the autotuner."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

from workbench.report import AutotuneChoice, Report
from workbench.views import wire


def phases(report: Report) -> list[wire.Phase]:
    """Every phase; the first one starts at 0 seconds."""
    start = min(report.phases.columns.get("start_s", ()), default=0.0)
    return [
        {
            "id": phase.id,
            "name": phase.name,
            "start_s": round(phase.start_s - start, 6),
            "duration_s": phase.duration_s,
            "self_s": phase.self_s,
            "depth": phase.depth,
            "thread": phase.thread,
        }
        for phase in report.phases
    ]


def choices(report: Report) -> list[wire.Choice]:
    """Every choice that the autotuner timed."""
    rows = [{**asdict(choice), "state": _state(choice)} for choice in report.autotune]
    for row in rows:
        del row["text"]  # the view has no place for it: `report.rivals()` shows the code
    return [cast(wire.Choice, row) for row in rows]


def _state(choice: AutotuneChoice) -> str:
    if choice.chosen:
        return "chosen"
    return "failed" if choice.time_ms is None and choice.note else "alternative"

"""The timeline, the choices of the autotuner, the facts about the artifact."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

from workbench.report import Report
from workbench.views import wire
from workbench.views.panes.about import environment_rows, request_rows
from workbench.views.units import bytes_text

_OF_THIS_MACHINE = ("host", "cpu", "cuda", "")  # targets that are loaded where they were made


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
    return [cast(wire.Choice, asdict(choice)) for choice in report.autotune]


def artifact(report: Report, saved: tuple[str, int] | None) -> list[wire.Artifact]:
    """Facts in groups: the file, the request, the environment, the caches, what is missing."""
    groups: list[tuple[str, list[tuple[str, str]]]] = [
        ("File", _file(report, saved)),
        ("Inputs", _inputs(report)),
        ("Request", [row for row in request_rows(report) if row[0] != "Inputs"]),
        ("Environment", list(environment_rows(report))),
        ("What torch's caches answered", _caches(report)),
        ("What could not be captured", _missing(report)),
    ]
    return [{"title": title, "facts": facts} for title, facts in groups if facts]


def _file(report: Report, saved: tuple[str, int] | None) -> list[tuple[str, str]]:
    kept = sum(report.guards.columns.get("kept", ()))
    guards = ("Guards", f"{kept} kept, {len(report.guards) - kept} dropped")
    if saved is not None:
        path, size = saved
        return [("Saved as", path), ("Size", bytes_text(size)), guards, *_runs_on(report)]
    if report.request.kind == "explanation":
        return [("Saved as", "not saved: an explanation only looks; aot_compile makes an artifact")]
    if not report.outcome.ok:
        step = report.outcome.step or "the compilation"
        return [("Saved as", f"not saved: {step} failed")]
    how = "not saved; compiled.save(path) writes it, or -s PATH in the magic"
    return [("Saved as", how), guards]


def _runs_on(report: Report) -> list[tuple[str, str]]:
    """Where a file of code for another machine can be loaded."""
    target = report.request.target
    if target in _OF_THIS_MACHINE:
        return []
    words = f"a machine with the GPU of {target}; wb.check(path, machine=…) compares one with it"
    return [("Runs on", words)]


def _inputs(report: Report) -> list[tuple[str, str]]:
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

"""The artifact pane: the file, what it holds and takes, what it needs, a round trip."""

from __future__ import annotations

import os
from collections.abc import Sequence

from workbench.report import Report
from workbench.report.roundtrip_rows import RoundTripWay
from workbench.views.blocks import Block, Column, Grid, Note, Pane, Span, Tag
from workbench.views.limits import Limits, cut
from workbench.views.roundtrip import COLUMNS, against_eager, times_of, title_of, words_of
from workbench.views.units import bytes_text, plural, seconds_text
from workbench.views.wire import Tone

_OF_THIS_MACHINE = ("host", "cpu", "cuda", "")  # targets that are loaded where they were made
_TONES: dict[str, Tone] = {"pass": "captured", "warn": "fallback", "fail": "break"}
_SAVE = "`compiled.save(path)` writes a file, `wb.package(model, args, path=…)` one for C++ too"
_TRIP = "`wb.roundtrip(compiled, args)` times what a fresh process does with it"


def pane(report: Report, limits: Limits) -> Pane:
    """A round trip first, then the file."""
    blocks: list[Block] = []
    words = advice(report, None)
    if words is not None:
        blocks.append(Note("Not saved.", words))
    blocks += [*_trip(report, limits), *_file(report, limits)]
    return Pane("artifact", "Artifact", tuple(blocks))


def advice(report: Report, saved: tuple[str, int] | None) -> str | None:
    """One line on how to get a file, or how to time one; None where there is all."""
    if report.request.kind == "trace":
        return "A trace log only tells: `report.save(path)` keeps this record."
    if report.request.kind == "explanation":
        return "An explanation only looks: `wb.aot_compile` makes something that can be saved."
    if not report.outcome.ok:
        step = report.outcome.step or "The compilation"
        return f"{step} failed, so there is nothing to save."
    if len(report.roundtrip):
        return None
    if len(report.artifact) or saved is not None:
        return f"{_TRIP}."
    return f"{_SAVE}; {_TRIP}."


def file_rows(report: Report, saved: tuple[str, int] | None) -> list[tuple[str, str]]:
    """What the file is, as names and values; the guards that it checks."""
    kept = sum(report.guards.columns.get("kept", ()))
    guards = ("Guards", f"{kept} kept, {len(report.guards) - kept} dropped")
    rows = [(row.name, row.value) for row in report.artifact]
    if not rows and saved is not None:
        rows = [("Path", saved[0]), ("Size", f"{saved[1]} bytes")]
    return [*((name, _worded(name, value)) for name, value in rows), guards]


def file_of(report: Report) -> tuple[str, int] | None:
    """The path and the size in bytes of the file, where there is one."""
    facts = {row.name: row.value for row in report.artifact}
    size = facts.get("Size", "").partition(" ")[0]
    return (facts["Path"], int(size)) if "Path" in facts and size.isdigit() else None


def runs_on(report: Report, saved: tuple[str, int] | None) -> list[tuple[str, str]]:
    """Where a file of code for another machine can be loaded."""
    target = report.request.target
    if target in _OF_THIS_MACHINE or not (saved or len(report.artifact)):
        return []
    words = f"a machine with the GPU of {target}; wb.check(path, machine=…) compares one with it"
    return [("Runs on", words)]


def _worded(name: str, value: str) -> str:
    count = value.partition(" ")[0]
    if name == "Size" and count.isdigit():
        return f"{bytes_text(int(count))} ({plural(int(count), 'byte')})"
    return value


def member_name(name: str) -> str:
    """A member as people read it: a kernel's hash is shortened, its build kept."""
    folder, _, last = name.rpartition("/")
    stem, dot, ending = last.partition(".")
    short = f"{stem[:12]}…" if len(stem) == 64 else stem
    return os.path.join(folder, f"{short}{dot}{ending}")


def _file(report: Report, limits: Limits) -> list[Block]:
    blocks: list[Block] = []
    if len(report.artifact):
        rows = tuple(file_rows(report, None))
        blocks.append(Grid("File", (Column(""), Column("", "code")), rows, "artifact"))
    members = [(member_name(row.name), row.what, bytes_text(row.size)) for row in report.members]
    blocks += _grid("What the file holds", _MEMBER, members, limits, "members")
    needs = [
        (
            row.name,
            Tag(row.verdict, _TONES.get(row.verdict, "plain")),
            row.needed,
            row.found,
            row.advice,
        )
        for row in report.requirements
    ]
    blocks += _grid("Does it load on this machine?", _NEED, needs, limits, "requirements")
    leaves = [(row.side, row.name, row.dtype, row.shape, row.device) for row in report.contract]
    return [*blocks, *_grid("What it takes and gives", _LEAF, leaves, limits, "contract")]


_MEMBER = (Column("Member", "code"), Column("What"), Column("Size", "number"))
_NEED = (
    Column("Needs"),
    Column("", "tag"),
    Column("At least", "code"),
    Column("Here", "code"),
    Column("What to do"),
)
_LEAF = tuple(Column(title, "code") for title in ("Side", "Name", "Dtype", "Shape", "Device"))


def _grid(
    title: str,
    columns: tuple[Column, ...],
    rows: Sequence[tuple[object, ...]],
    limits: Limits,
    frame: str,
) -> list[Block]:
    if not rows:
        return []
    shown, more = cut(rows, limits.rows, frame)
    return [Grid(title, columns, tuple(shown), frame, more)]


def _trip(report: Report, limits: Limits) -> list[Block]:
    ways = list(report.roundtrip)
    if not ways:
        return []
    columns = (
        Column("Round trip"),
        *(Column(title.capitalize(), "number") for title in COLUMNS),
        Column("Against eager", "tag"),
    )
    grid = Grid("Round trip", columns, tuple(_way(way) for way in ways), "roundtrip")
    falls = [_fall(report, way) for way in ways if way.ran]
    return [grid, *falls[: limits.figures]]


def _way(way: RoundTripWay) -> tuple[object, ...]:
    times = (seconds_text(value) for value in times_of(way))
    if not way.ran:
        return (title_of(way.way), *times, Tag(f"did not run: {way.note}", "fallback"))
    tone: Tone = {True: "captured", False: "break", None: "plain"}[way.ok]  # type: ignore[assignment]
    return (title_of(way.way), *times, Tag(against_eager(way), tone))


def _fall(report: Report, way: RoundTripWay) -> Grid:
    """The phases of a way, each where it begins."""
    total = way.total_s or 1.0
    rows = tuple(
        (
            words_of(phase.phase),
            seconds_text(phase.start_s),
            seconds_text(phase.duration_s),
            Span(phase.start_s / total, phase.duration_s / total),
        )
        for phase in report.roundtrip_phases
        if phase.way == way.way
    )
    titles = (
        Column("Phase"),
        Column("From", "number"),
        Column("Takes", "number"),
        Column("From the start of the process", "meter"),
    )
    title = f"{title_of(way.way)}: {seconds_text(way.total_s)} from the start of the process"
    return Grid(title, titles, rows, "roundtrip_phases")

"""A session as HTML: a page that opens from disk, and the summary that a notebook keeps."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from os import PathLike
from typing import Any

from workbench.analysis.session.advice import advice, place, why_slow
from workbench.analysis.session.redact import redact as without_sources
from workbench.report.session.record import Session
from workbench.views.session.text import text
from workbench.views.session.timeline import timeline
from workbench.views.static_html import render
from workbench.views.static_html.grids import Column, grid
from workbench.views.static_html.limits import Limits
from workbench.views.words.units import seconds_text

_COMPILES = (
    Column("", "at", "right"),
    Column("Id", "id", "word"),
    Column("Function", "function", "code"),
    Column("Line", "place", "word"),
    Column("Kind", "kind", "word"),
    Column("Step", "step", "right"),
    Column("Time", "total_s", "s"),
    Column("Outcome", "outcome", "word"),
    Column("Caches", "cache"),
    Column("Why", "why", "prose"),
)
_RECOMPILES = (
    Column("Id", "compile_id", "word"),
    Column("Function", "function", "code"),
    Column("Step", "step", "right"),
    Column("Against", "against", "word"),
    Column("Kind", "kind", "word"),
    Column("Expected", "expected", "code"),
    Column("Found", "actual", "code"),
    Column("Guard", "guard", "code"),
)
_BREAKS = (
    Column("Line", "place", "word"),
    Column("Code", "text", "code"),
    Column("Times", "count", "right"),
    Column("Compiling", "cost_s", "s"),
    Column("Why", "reason", "prose"),
)
_FALLBACKS = (
    Column("Function", "function", "code"),
    Column("Line", "place", "word"),
    Column("Since step", "step", "right"),
    Column("How", "how", "word"),
    Column("Eager calls", "eager_calls", "right"),
    Column("Why", "why", "prose"),
)
_REGIONS = (
    Column("Id", "compile_id", "word"),
    Column("Function", "function", "code"),
    Column("Pass", "pass_", "word"),
    Column("Calls", "calls", "count"),
    Column("In all", "total_ms", "ms"),
    Column("Each", "mean_us", "us"),
    Column("First", "first_us", "us"),
)
_STEPS = (
    Column("Step", "step", "right"),
    Column("Whole", "wall_ms", "ms"),
    Column("Compiling", "compile_s", "s"),
    Column("Calls", "graph_calls", "count"),
    Column("In graphs", "in_graphs_ms", "ms"),
    Column("Outside", "outside_ms", "ms"),
)
_SLOWEST = 3
_PASSES = {True: "backward", False: "forward", None: "not known"}


def page(session: Session, path: str | PathLike[str] | None = None, *, redact: bool = False) -> str:
    """A self-contained page; written to `path` when given. `redact` drops lines of code."""
    shown = without_sources(session) if redact else session
    return render.page("Session", render.body("session", partial(_view, shown)), path)


def fragment(session: Session) -> str:
    """The advice and the tables, for a notebook; it needs no style sheet."""
    return render.summary("session", partial(_view, session))


def facts(session: Session) -> str:
    """How long was recorded and how, in a sentence."""
    header = session.header
    environment = header.environment
    where = f"torch {environment.torch}, Python {environment.python}" if environment.torch else ""
    parts = [f"{seconds_text(header.wall_s)} recorded", f"capture {header.capture}", where]
    return ", ".join(part for part in parts if part) + ". Times are measured on the host."


def notes(session: Session) -> list[str]:
    """What a reader has to know of it: what could not be seen, steps that never came."""
    header = session.header
    found = [f"{part} could not be seen: {why}." for part, why in header.missing]
    if header.steps <= 1 and len(session.tables["regions"]):
        found.append(
            "No step was told apart: call s.step() at the end of each, go through s.steps(loader), "
            'or begin with wb.session(steps="optimizer").'
        )
    omitted = session.tables["steps"].omitted
    if omitted > 0:
        found.append(f"The first {omitted} steps are counted and not kept.")
    return found


def _view(session: Session, limits: Limits) -> dict[str, Any]:
    tables = session.tables
    compiles = [
        {**asdict(row), "at": at, "place": place(row.file, row.line)}
        for at, row in enumerate(tables["compiles"])
    ]
    placed = {
        name: [{**asdict(row), "place": place(row.file, row.line)} for row in tables[name]]
        for name in ("breaks", "fallbacks")
    }
    regions = [{**asdict(row), "pass_": _PASSES[row.is_backward]} for row in tables["regions"]]
    others = (
        (
            "recompiles",
            "Compiled again",
            _RECOMPILES,
            [asdict(row) for row in tables["recompiles"]],
        ),
        ("breaks", "Graph breaks", _BREAKS, placed["breaks"]),
        ("fallbacks", "Runs eagerly", _FALLBACKS, placed["fallbacks"]),
        ("regions", "Calls of compiled graphs", _REGIONS, regions),
        ("steps", "Steps", _STEPS, [asdict(row) for row in tables["steps"]]),
    )
    shown = [("compiles", "Compiles", _COMPILES, compiles), *others]
    return {
        "title": text(session),
        "facts": facts(session),
        "notes": notes(session),
        "advice": [one.sentence for one in advice(session)],
        "slow": slowest(session),
        "timeline": timeline(session),
        "grids": [
            (name, grid(title, columns, rows, limits, call=f'.frame("{name}")'))
            for name, title, columns, rows in shown
            if rows
        ],
    }


def slowest(session: Session) -> list[str]:
    """Why the slowest steps took so long, a sentence each."""
    steps = sorted(session.tables["steps"], key=lambda step: -step.wall_ms)[:_SLOWEST]
    return [words for step in steps if (words := why_slow(session, step.step))]

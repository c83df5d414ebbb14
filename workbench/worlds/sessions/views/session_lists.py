"""The tables of a session as they are shown: titles, columns, rows in plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.number_text import plural
from workbench.report.table import Table
from workbench.views.tables.column import Column, Shown
from workbench.worlds.sessions.rows.session_record import (
    Session,
    list_compiled,
    list_recompiles,
    was_compiled_before,
)
from workbench.worlds.sessions.rows.session_rows import place

_COMPILES = (
    Column("No.", "at", "right", is_wide=True),
    Column("Id", "id", "word"),
    Column("Function", "function", "code", "minmax(90px, 0.7fr)"),
    Column("Line", "place", "word", "minmax(112px, 0.9fr)"),
    Column("Kind", "kind", "word", is_wide=True),
    Column("Step", "step", "right"),
    Column("Time", "total_s", "s"),
    Column("Outcome", "outcome", "word"),
    Column("Caches", "cache", is_wide=True),
    Column("Why", "why", "prose", "minmax(200px, 2.4fr)"),
)
_RECOMPILES = (
    Column("Id", "compile_id", "word"),
    Column("Function", "function", "code", "minmax(90px, 0.7fr)"),
    Column("Step", "step", "right"),
    Column("Against", "against", "word", is_wide=True),
    Column("Kind", "kind", "word", is_wide=True),
    Column("Expected", "expected", "code", is_wide=True),
    Column("Found", "actual", "code", "minmax(60px, 0.6fr)"),
    Column("Guard", "guard", "code", "minmax(200px, 3fr)"),
    Column("Guards", "more", "right"),
)
_BREAKS = (
    Column("Line", "place", "word", "minmax(112px, 0.9fr)"),
    Column("Code", "text", "code"),
    Column("Times", "count", "right"),
    Column("Compiling", "cost_s", "s"),
    Column("Why", "reason", "prose"),
)
_FALLBACKS = (
    Column("Function", "function", "code", "minmax(90px, 0.7fr)"),
    Column("Line", "place", "word", "minmax(112px, 0.9fr)"),
    Column("Since step", "step", "right"),
    Column("How", "how", "word"),
    Column("Eager calls", "eager_calls", "right"),
    Column("Why", "why", "prose", "minmax(200px, 2.4fr)"),
)
_REGIONS = (
    Column("Id", "compile_id", "word"),
    Column("Function", "function", "code", "minmax(90px, 0.7fr)"),
    Column("Pass", "pass_", "word", is_wide=True),
    Column("Calls", "calls", "count"),
    Column("In all", "total_ms", "ms"),
    Column("Each", "mean_us", "us"),
    Column("First", "first_us", "us", is_wide=True),
    Column("Inputs", "inputs", "prose"),
    Column("In step", "step", "right"),
    Column("Why", "why", "prose", "minmax(200px, 2.4fr)"),
)
_STEPS = (
    Column("Step", "step", "right"),
    Column("Whole", "wall_ms", "ms"),
    Column("Compiling", "compile_s", "s"),
    Column("Calls", "graph_calls", "count"),
    Column("In graphs", "in_graphs_ms", "ms"),
    Column("Outside", "outside_ms", "ms"),
)
_PASSES = {True: "backward", False: "forward", None: "not known"}


def tables(session: Session) -> list[Shown]:
    """Every table but the events, which the timeline shows."""
    own = session.tables
    compiles = _rows(own["compiles"])
    shown = [{**row, "at": at, "place": _place(row)} for at, row in enumerate(compiles)]
    # one for each compile: its guards against the farther variants are in the frame
    again = {row.id for row in list_recompiles(own)}
    refused = len(compiles) - len(list_compiled(own))
    title = f"Compiles, {refused} refused" if refused else "Compiles"
    nearest = [r for r in _rows(own["recompiles"]) if r["nearest"] and r["compile_id"] in again]
    recompiles = [_with_all_guards(row) for row in nearest]
    breaks, fallbacks = (
        [{**row, "place": _place(row)} for row in _rows(own[name])]
        for name in ("breaks", "fallbacks")
    )
    steps, rows = own["steps"], _rows(own["steps"])
    before = "Nothing was compiled: all graphs were compiled before the session."
    none = before if was_compiled_before(session) else "Nothing was compiled."
    return [
        Shown("compiles", title, _COMPILES, shown, none, "total_s"),
        Shown(
            "recompiles",
            "Recompiles",
            _RECOMPILES,
            recompiles,
            "Nothing was recompiled.",
            "cost_s",
        ),
        Shown("breaks", "Graph breaks", _BREAKS, breaks, "No graph breaks.", "cost_s"),
        Shown(
            "fallbacks",
            "Runs eagerly",
            _FALLBACKS,
            fallbacks,
            "No function fell back to eager.",
            "step",
        ),
        Shown(
            "regions",
            "Calls of compiled graphs",
            _REGIONS,
            _regions(session, compiles),
            "No Inductor graph was called.",
            "total_ms",
        ),
        Shown(
            "steps", "Steps", _STEPS, rows, "No step has ended.", "wall_ms", max(0, steps.omitted)
        ),
    ]


def _rows(table: Table[Any]) -> list[dict[str, Any]]:
    names = list(table.columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*table.columns.values(), strict=True)]


def _with_all_guards(row: Mapping[str, Any]) -> dict[str, Any]:
    """With how many guards did not hold where it is not one, and what is said of the row."""
    guards = list(dict.fromkeys((row["guard"], *row["also"])))
    head = f"{row['compile_id']} {row['function']}: "
    head += f"{plural(len(guards), 'guard')} of variant {row['against']} failed"
    more = len(guards) if len(guards) > 1 else None
    return {**row, "more": more, "details": "\n".join((head, *guards))}


def _place(row: Mapping[str, Any]) -> str:
    return place(row["file"], row["line"])


def _regions(session: Session, compiles: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each with the compile that it is from: in which step that was, and why there was one more."""
    of = {(row["id"], row["kind"] == "backward"): row for row in compiles}
    rows = []
    for region in _rows(session.tables["regions"]):
        id, is_backward = region["compile_id"], region["is_backward"]
        forward = of.get((id, False))
        row = of.get((id, bool(is_backward)), forward)
        before = "" if id else "compiled before the session"
        rows.append(
            {
                **region,
                "pass_": _PASSES[is_backward],
                "step": None if row is None else row["step"],
                "why": before or (forward or {}).get("why", ""),
            }
        )
    return rows

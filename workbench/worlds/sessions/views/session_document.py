"""A session as the one document that its widget and its page show; plain JSON-ready data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from workbench.views.kit.proposed_changes import list_change_lines
from workbench.views.tables.column import pack_table
from workbench.views.wire.advice_messages import ChangeOutcome, ProposedChange
from workbench.views.wire.table_messages import TableRows
from workbench.worlds.sessions.findings.advice import (
    Advice,
    RecompilePatch,
    advice,
    explain_slow_steps,
)
from workbench.worlds.sessions.rows.session_record import Session
from workbench.worlds.sessions.rows.session_rows import place
from workbench.worlds.sessions.views.messages import (
    SessionBar,
    SessionChange,
    SessionDocument,
)
from workbench.worlds.sessions.views.session_answer import counts
from workbench.worlds.sessions.views.session_facts import explain_slowest, facts, notes
from workbench.worlds.sessions.views.session_lists import tables
from workbench.worlds.sessions.views.session_timeline import timeline

VERSION = 1
MOST_ROWS, MOST_LIVE = 1000, 200
"""Rows of a table in a view, and while the program runs: the costliest; `.frame()` has all."""
_DIGITS = 4
_BESIDES = ("step", "first_step", "details")
Status = Literal["running", "done"]


@dataclass(frozen=True)
class Trials:
    """The outcomes of patches by their ids; `why_not` is why none can be tried."""

    why_not: str | None
    tried: Mapping[str, ChangeOutcome]


NOT_HERE = Trials("A patch can be tried only in the notebook that recorded the session.", {})


def document(
    session: Session,
    status: Status = "done",
    variable: str = "_",
    *,
    has_reports: bool = True,
    trials: Trials = NOT_HERE,
) -> SessionDocument:
    """Everything that a view shows of the session itself."""
    is_running = status == "running"
    most = MOST_LIVE if is_running else MOST_ROWS
    shown = [pack_table(each, most, _BESIDES) for each in tables(session)]
    bars, scale = _picture(session, shown)
    changes = advice(session)
    return {
        "version": VERSION,
        "variable": variable,
        "status": status,
        "title": counts(session),
        "facts": facts(session),
        "notes": notes(session, is_running=is_running),
        "advice": [one.sentence for one in changes],
        "changes": [_change(one, trials) for one in changes],
        "slow": explain_slowest(session),
        "bars": bars,
        "scale": scale,
        "tables": shown,
        "can_open": [f"compiles:{at}" for at in session.reports] if has_reports else [],
    }


def _change(one: Advice, trials: Trials) -> SessionChange:
    return {"sentence": one.sentence, "patches": [_patch(each, trials) for each in one.patches]}


def _patch(patch: RecompilePatch, trials: Trials) -> ProposedChange:
    return {
        "id": patch.id,
        "title": patch.title,
        "why": patch.why,
        "lines": list_change_lines(patch.change, lambda edit: place(edit.file, edit.line)),
        "code": patch.change.code,
        "ask": "try-patch",
        "question": {"id": patch.id},
        "why_not": trials.why_not,
        "outcome": trials.tried.get(patch.id),
    }


def _picture(
    session: Session, shown: Sequence[TableRows]
) -> tuple[list[SessionBar], list[tuple[float, str]]]:
    """The bars of the timeline, its scale."""
    drawn = timeline(session)
    if drawn is None:
        return [], []
    why = explain_slow_steps(session, [bar.bar.slowest for bar in drawn.bars])
    rows = _rows_of_steps(shown)
    bars: list[SessionBar] = [
        {
            "first": bar.bar.first,
            "last": bar.bar.last,
            "heights": [round(part, _DIGITS) for part in bar.heights],
            "marks": bar.marks,
            "words": bar.words,
            "why": why.get(bar.bar.slowest, ""),
            "rows": [id for n in range(bar.bar.first, bar.bar.last + 1) for id in rows.get(n, ())],
        }
        for bar in drawn.bars
    ]
    scale = [(round(1 - y / drawn.height, _DIGITS), words) for y, words in drawn.ticks]
    return bars, scale


def _rows_of_steps(shown: Sequence[TableRows]) -> dict[int, list[str]]:
    """By step, the ids of the rows of all tables that belong to it."""
    by_step: dict[int, list[str]] = {}
    for each in shown:
        for row in each["rows"]:
            step = row.get("first_step", row.get("step"))
            if isinstance(step, int):
                by_step.setdefault(step, []).append(str(row["row"]))
    return by_step

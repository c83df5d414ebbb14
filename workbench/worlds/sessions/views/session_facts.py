"""Sentences on a session: how it was recorded, what to know of it, its slowest steps."""

from __future__ import annotations

from heapq import nsmallest

from workbench.number_text import format_seconds, plural
from workbench.worlds.sessions.findings.advice import explain_slow_steps
from workbench.worlds.sessions.rows.session_record import Session, was_compiled_before

_SLOWEST = 3
_ANEW = (
    "To record it, call torch.compiler.reset() at the session's start, so torch recompiles it, or "
    "start the session before the first call."
)


def facts(session: Session) -> str:
    """How long was recorded and how, in a sentence."""
    header = session.header
    environment = header.environment
    where = f"torch {environment.torch}, Python {environment.python}" if environment.torch else ""
    parts = [f"{format_seconds(header.wall_s)} recorded", f"capture {header.capture}", where]
    return ", ".join(part for part in parts if part) + ". Times are measured on the host."


def notes(session: Session, *, is_running: bool = False) -> list[str]:
    """What a reader has to know of it: what could not be seen, steps that never came."""
    header, tables = session.header, session.tables
    missing = dict(header.missing)
    lines = [f"Not recorded: {part} ({why})." for part, why in missing.items()]
    if not is_running and was_compiled_before(session):
        lines.append(_tell_compiled_before(session))
    is_one = header.steps <= 1 if header.steps_ended is None else not header.steps_ended
    is_empty = not (len(tables["regions"]) or len(tables["compiles"]))
    if is_one and not (is_running or is_empty or "steps" in missing):
        lines.append(
            "Steps are not marked: call s.step() at the end of each, iterate over "
            's.steps(loader), or use wb.session(steps="optimizer").'
        )
    caught = (text for row in tables["compiles"].columns.get("caught", ()) for text in row)
    lines += [f"{text}." for text in dict.fromkeys(caught)]
    if not is_running and "calls of compiled graphs" not in missing:
        lines += _of_compiles(session)
    omitted = tables["steps"].omitted
    if omitted > 0:
        first = "step is" if omitted == 1 else f"{omitted} steps are"
        lines.append(f"The first {first} counted, but details were not kept.")
    return lines


def _of_compiles(session: Session) -> list[str]:
    """Compiles that outlived the session, and graphs whose calls cannot be counted."""
    compiles = list(session.tables["compiles"])
    lines = [
        f"Thread {row.thread} was still compiling {row.function} ({row.id}) when the session "
        "ended: its data is incomplete."
        for row in compiles
        if row.outcome == "unfinished"
    ]
    has_graph = any(row.outcome == "graph" for row in compiles)
    if has_graph and not any(session.tables["regions"].columns["compile_id"]):
        lines.append(
            "Calls are counted only for graphs compiled by Inductor, not by other backends."
        )
    return lines


def _tell_compiled_before(session: Session) -> str:
    """Why nothing was compiled in a session in which compiled graphs ran."""
    calls = sum(session.tables["regions"].columns["calls"])
    what = f" ({plural(calls, 'call')} of compiled graphs)" if calls else ""
    head = f"Nothing was compiled: all graphs were compiled before the session{what}."
    return f"{head} {_ANEW}"


def explain_slowest(session: Session) -> list[str]:
    """Why the slowest steps took so long, a sentence each."""
    columns = session.tables["steps"].columns
    times = zip(columns.get("wall_ms", ()), columns.get("step", ()), strict=True)
    slow = nsmallest(_SLOWEST, ((-time, step) for time, step in times))
    return list(explain_slow_steps(session, [step for _, step in slow]).values())

"""A session of a loop of six steps, made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sample_report import make

from workbench.report.program.record_rows import (
    Compile,
    Event,
    Fallback,
    ProgramBreak,
    ProgramHeader,
    ProgramRecompile,
)
from workbench.report.report_header import Environment
from workbench.report.table import Table
from workbench.worlds.sessions.rows.session_record import Session
from workbench.worlds.sessions.rows.session_rows import SESSION_TABLES, Region, Step

FILE = "loop/train.py"


def _compile(id: str, step: int, kind: str, total_s: float, line: int = 12, **more: Any) -> Compile:
    at_s, thread = 3.0 * step, "MainThread"
    return Compile(id, "Net.forward", FILE, line, step, at_s, kind, thread, total_s, **more)


def session() -> Session:
    """A first compile, one for another size, a break that costs, a frame at its limit."""
    size = "tensor 'x' size mismatch at index 0. expected 4, actual 6"
    again = ProgramRecompile(
        "0/1", "Net.forward", 2, "0/0", True, size, "size", "x.size()[0]", "4", "6", 1, 1.5
    )
    further = ProgramRecompile(
        "0/1",
        "Net.forward",
        2,
        "0/2",
        False,
        "x.stride()[0] == 8",
        "size",
        "x.stride()[0]",
        "8",
        "",
        2,
        1.5,
    )
    cut = ProgramBreak(
        FILE,
        14,
        "Net.forward",
        "print(y)",
        "Failed to trace builtin operator",
        "builtin print",
        ("Log it after the step.",),
        2,
        ("0/0", "0/1"),
        0,
        0.5,
    )
    why = "Dynamo recompile limit exceeded"
    rows: dict[str, list[Any]] = {
        "compiles": [
            _compile("0/0", 0, "first", 2.0, outcome="graph", ops=2, has_report=True, breaks=1),
            _compile("1/0", 0, "resume", 0.5, outcome="graph", line=14),
            _compile("0/1", 2, "recompile", 1.5, outcome="graph", why=size, breaks=1),
            replace(_compile("2/8", 4, "recompile", 0.1, 30, outcome="limit"), function="scaled"),
        ],
        "recompiles": [again, further],
        "breaks": [cut],
        "fallbacks": [Fallback("scaled", FILE, 30, "2/8", 4, "new variants", why, 7)],
        "regions": [
            Region("0/0", "Net.forward", False, 2, 3.0, 1500.0, 2000.0),
            Region("", "", False, 1, 1.0, 1000.0, 1000.0),
        ],
        "steps": [
            Step(
                n,
                3.0 * n,
                10.0 + 2500.0 * (n == 0) + 1500.0 * (n == 2),
                2.5 * (n == 0) + 1.5 * (n == 2),
                1,
                4.0,
                6.0,
                2 * (n in (0, 2)),
            )
            for n in range(6)
        ],
        "events": [
            Event(0, 0.0, "compile", "0/0", "Net.forward", "first", 2.0),
            Event(0, 2.0, "compile", "1/0", "Net.forward", "resume", 0.5),
            Event(0, 0.5, "break", "0/0", "Net.forward", "train.py:14: builtin print"),
            Event(2, 6.0, "recompile", "0/1", "Net.forward", size, 1.5),
            Event(4, 9.0, "fallback", "2/8", "scaled", why),
        ],
    }
    environment = Environment(torch="2.13.0", python="3.11.7")
    header = ProgramHeader(environment, began_at=1.7e9, wall_s=16.5, steps=6, events=5)
    tables = {name: Table.of(SESSION_TABLES[name], part) for name, part in rows.items()}
    return Session(header, tables, {0: make()})
